import type { Bus } from '../../replicas/bus.ts'
import type { ConfigurationFile } from '../configuration-file.ts'
import type { ConfigurationStore } from '../configuration-store.ts'
import type { ConfigurationDependencies } from '../configuration.ts'

/** What a configuration that processes share is kept and followed with. */
export interface SharedDependencies extends ConfigurationDependencies {
  store: ConfigurationStore
  file: ConfigurationFile
  bus: Pick<Bus, 'publish' | 'subscribe' | 'onGap'>
  /** The text of the first configuration of all, where there is no file. */
  sample(): Promise<string>
  /** Whether another process serves already. */
  hasOthers(): Promise<boolean>
}
