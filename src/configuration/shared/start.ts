import { formatProblems } from '../load.ts'
import { ConfigError } from '../problems.ts'
import { parseSource } from '../source.ts'
import type { ReadyConfiguration } from './served-configuration.ts'
import type { LoadedConfiguration, LatestConfiguration } from './latest-configuration.ts'
import type { SharedDependencies } from './shared-dependencies.ts'
import type { SharedFile } from './shared-file.ts'

interface StartParts {
  latest: LatestConfiguration
  file: SharedFile
  tell(version: string): void
}

/**
 * What a process begins with. The first of all stores what its file holds; the first after all had stopped drops what was in memory alone; an
 * edit that nobody has seen yet is taken over. Throws `ConfigError` for a first one that can't be used, and an error that tells all for a later one.
 */
export async function startWith(deps: SharedDependencies, { latest, file, tell }: StartParts): Promise<ReadyConfiguration> {
  if ((await deps.store.newestNumber()) === 0) await seed(deps)
  try {
    if (await endMemory(deps, latest)) tell('')
    let ready: ReadyConfiguration | undefined
    await file.look((taken) => (ready = taken))
    if (ready) return ready
    const configuration = await latest.read()
    return { configuration, parts: deps.createAgent(configuration.used.config, configuration.version) }
  } catch (error) {
    throw error instanceof ConfigError ? toUnusable(error) : error
  }
}

function toUnusable(cause: ConfigError): Error {
  const lines = formatProblems('configuration', cause).map((line) => `\n  ${line}`)
  const advice =
    'Correct what it needs, or put a former one in its place: "agent-core config history", "agent-core config restore VERSION".'
  return new Error(`The configuration in the database can not be used here:${lines.join('')}\n${advice}`, { cause })
}

/** Of processes that start together one is the first. */
async function seed(deps: SharedDependencies): Promise<void> {
  const text = await deps.file.read().catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return deps.sample()
    throw error
  })
  const { config } = parseSource(text)
  const version = deps.newVersion()
  // One that can't be made ready would be in the way of the file that is right.
  await deps.createAgent(config, version).tools.close()
  await deps.store.add({ version, storedVersion: version, kind: 'seed', text, diff: [], at: deps.now() }, 0)
}

async function endMemory(deps: SharedDependencies, latest: LatestConfiguration): Promise<boolean> {
  for (;;) {
    const newest = await latest.read()
    if (newest.used.data === newest.stored.data || (await deps.hasOthers())) return false
    if (await drop(newest)) return true
  }

  async function drop(newest: LoadedConfiguration): Promise<boolean> {
    const change = {
      stored: newest.stored,
      used: newest.stored,
      version: deps.newVersion(),
      kind: 'start',
      at: deps.now(),
      diff: [],
    } as const
    return (await latest.add(change, newest)) !== undefined
  }
}
