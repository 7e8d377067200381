import { Inputs } from './resources/inputs.ts';
import { Messages } from './resources/messages.ts';
import { Runs } from './resources/runs.ts';
import { Sessions } from './resources/sessions.ts';
import { Transport, type TurnkeeperOptions } from './transport.ts';

/** Turnkeeper's API for one tenant's key. Holds no connection; make one and keep it. */
export class Turnkeeper {
  readonly messages: Messages;
  readonly runs: Runs;
  readonly sessions: Sessions;
  readonly inputs: Inputs;

  constructor(options: TurnkeeperOptions) {
    const transport = new Transport(options);
    this.messages = new Messages(transport);
    this.runs = new Runs(transport);
    this.sessions = new Sessions(transport);
    this.inputs = new Inputs(transport);
  }
}
