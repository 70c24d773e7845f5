import type { Bus } from '../../replicas/bus.ts'
import type { Watch } from '../../replicas/watch.ts'
import type { ConfigurationFile } from '../configuration-file.ts'
import type { ConfigurationStore } from '../configuration-store.ts'
import type { ConfigurationDependencies } from '../configuration.ts'

/** The dependencies of a configuration that several processes share. */
export interface SharedDependencies extends ConfigurationDependencies {
  store: ConfigurationStore
  file: ConfigurationFile
  bus: Pick<Bus, 'publish' | 'subscribe' | 'onGap'>
  /** Watches the stored configuration. Default: polls. */
  watch?: Watch
  /** The text of the very first configuration, used without a file. */
  sample(): Promise<string>
  /** Resolves to true if another process is already serving. */
  hasOthers(): Promise<boolean>
}
