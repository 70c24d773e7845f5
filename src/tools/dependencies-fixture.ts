import { pino } from 'pino'
import type { FilesRoot } from '../files/root.ts'
import type { ToolDependencies } from './builder.ts'

type FixtureDependencies = Partial<ToolDependencies> & { files: FilesRoot; cacheDir: string }

/** Without a log, variables, or a way to other hosts. */
export function dependenciesOf(given: FixtureDependencies): ToolDependencies {
  const fetch = () => Promise.reject(new Error('Nothing is fetched here.'))
  const log = pino({ enabled: false })
  return { configDir: given.cacheDir, environment: {}, outbound: { fetch, fetchConfigured: fetch }, log, ...given }
}
