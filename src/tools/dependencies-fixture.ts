import { pino } from 'pino'
import { createLoginMemory } from '../configuration/mcp/login-store.ts'
import { createPinMemory } from '../configuration/mcp/pin-store.ts'
import type { FilesRoot } from '../files/root.ts'
import { noDocuments } from '../knowledge/knowledge-store.ts'
import { createSearch } from '../search/search.ts'
import type { ToolDependencies } from './builder.ts'

type FixtureDependencies = Partial<ToolDependencies> & { files: FilesRoot; cacheDir: string }

/** Tool dependencies without a log, environment variables or outbound access, unless overridden. */
export function dependenciesOf(overrides: FixtureDependencies): ToolDependencies {
  const fetch = () => Promise.reject(new Error('Nothing is fetched here.'))
  const log = pino({ enabled: false })
  const outbound = { fetch, fetchConfigured: fetch }
  return {
    configDir: overrides.cacheDir,
    environment: {},
    outbound,
    search: createSearch(),
    documents: noDocuments,
    pins: createPinMemory(),
    logins: createLoginMemory(),
    log,
    ...overrides,
  }
}
