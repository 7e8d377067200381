import { GenericContainer } from 'testcontainers';

/** A container whose ports only this machine reaches; the library itself would open them to the network. */
export class LoopbackContainer extends GenericContainer {
  protected override beforeContainerCreated(): Promise<void> {
    const bindings: Record<string, { HostIp?: string }[]> = this.hostConfig.PortBindings ?? {};
    for (const binding of Object.values(bindings).flat()) binding.HostIp = '127.0.0.1';
    return Promise.resolve();
  }
}
