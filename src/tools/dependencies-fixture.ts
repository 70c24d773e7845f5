import { pino } from 'pino'
import type { FilesRoot } from '../files/root.ts'
import type { ToolDependencies } from './builder.ts'

type FixtureDependencies = Partial<ToolDependencies> & { files: FilesRoot; cacheDir: string }

/** Tool dependencies without a log, environment variables or outbound access, unless overridden. */
export function dependenciesOf(overrides: FixtureDependencies): ToolDependencies {
  const fetch = () => Promise.reject(new Error('Nothing is fetched here.'))
  const log = pino({ enabled: false })
  return { configDir: overrides.cacheDir, environment: {}, outbound: { fetch, fetchConfigured: fetch }, log, ...overrides }
}
