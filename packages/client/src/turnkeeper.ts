import {
  type Account,
  type AccountChanges,
  type Agent,
  type AgentChanges,
  Configured,
  type CreatedKey,
  type Key,
  type KeyChanges,
  type NewAccount,
  type NewAgent,
  type NewKey,
} from './resources/configured.ts';
import { Events } from './resources/events.ts';
import { Files } from './resources/files.ts';
import { Inputs } from './resources/inputs.ts';
import { Messages } from './resources/messages.ts';
import { Runs } from './resources/runs.ts';
import { Sessions } from './resources/sessions.ts';
import { Visitors } from './resources/visitors.ts';
import { Transport, type TurnkeeperOptions } from './transport.ts';

/** Turnkeeper's API for one tenant's key. Holds no connection; make one and keep it. */
export class Turnkeeper {
  readonly messages: Messages;
  readonly runs: Runs;
  readonly sessions: Sessions;
  readonly events: Events;
  readonly inputs: Inputs;
  readonly files: Files;
  readonly visitors: Visitors;
  readonly agents: Configured<Agent, NewAgent, Agent, AgentChanges>;
  readonly accounts: Configured<Account, NewAccount, Account, AccountChanges>;
  readonly keys: Configured<Key, NewKey, CreatedKey, KeyChanges>;

  constructor(options: TurnkeeperOptions) {
    const transport = new Transport(options);
    this.messages = new Messages(transport);
    this.runs = new Runs(transport);
    this.sessions = new Sessions(transport);
    this.events = new Events(transport);
    this.inputs = new Inputs(transport);
    this.files = new Files(transport);
    this.visitors = new Visitors(transport);
    this.agents = new Configured(transport, '/v1/agents');
    this.accounts = new Configured(transport, '/v1/accounts');
    this.keys = new Configured(transport, '/v1/keys');
  }
}
