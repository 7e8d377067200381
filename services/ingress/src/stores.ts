import type { Kit } from '@turnkeeper/platform/process';
import { storeGauges } from '@turnkeeper/platform/telemetry';
import * as storage from '@turnkeeper/storage';
import type { IngressConfig } from './config.ts';
import { Databases } from './databases.ts';
import { IngressCount } from './node/ingress-count.ts';
import { NodeRow } from './node/node-row.ts';
import { SlotMap } from './node/slot-map.ts';

/** Everything that an ingress keeps in Postgres, over one pool per role. */
export function openStores(config: IngressConfig, kit: Kit) {
  const { clock, ids, logger, metrics } = kit;
  const databases = new Databases({ ...config, url: config.postgresUrl, logger, metrics });
  const ownership = new storage.PostgresOwnershipStore(databases.engine);
  const sealing = new storage.Sealing(storage.serverKeyWrap(config.masterKey));
  const cluster = new storage.ClusterStore(databases.admin);
  const operators = { database: databases.admin, sealing, ids };
  const configs = storage.openConfigs({
    database: databases.lookup,
    sealing,
    clock,
    onError: (error) => logger.failed(error, {}, 'the use of a key could not be noted'),
  });
  return {
    ...configs,
    databases,
    intake: new storage.PostgresIntakeStore(databases.engine),
    control: new storage.PostgresControlStore(databases.engine),
    attachments: new storage.PostgresAttachmentStore(databases.files),
    deliveries: new storage.DeliveryReadStore(databases.api),
    deliveryControl: new storage.PostgresDeliveryControl(databases.engine),
    inputs: new storage.PostgresInputStore(databases.engine),
    runs: new storage.RunStore(databases),
    seenMarks: new storage.SeenStore(databases.engine),
    ticketUses: new storage.TicketStore(databases.api),
    timelines: new storage.TimelineStore(databases.api),
    sessions: new storage.SessionStore(databases.api),
    search: new storage.SearchStore(databases.api),
    usage: new storage.UsageStore(databases.api),
    streamReads: new storage.StreamStore(databases.streams),
    configs: new storage.TenantConfigStore({ database: databases.api, sealing, ids }),
    ownKeys: new storage.KeyStore({ database: databases.api, ids, pepper: config.keyPepper }),
    admin: {
      operator: new storage.OperatorConfigStore({ ...operators, pepper: config.keyPepper }),
      keys: new storage.KeyStore({ ...operators, pepper: config.keyPepper }),
      configs: new storage.TenantConfigStore(operators),
      cluster,
      journal: new storage.JournalStore(databases.admin),
      parked: new storage.ParkedEventStore({ database: databases.admin }),
    },
    slots: new SlotMap(ownership),
    nodes: new IngressCount(cluster),
    node: new NodeRow({
      ...{ ids, logger, bootId: kit.bootId, version: kit.version },
      store: ownership,
      name: kit.nodeName,
      pid: process.pid,
      storeIsUp: storeGauges(metrics, 'postgres'),
    }),
  };
}
