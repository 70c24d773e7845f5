import { ServiceError } from '../../errors.ts'
import { findFaultyTools, type AgentParts } from '../agent.ts'
import type { Agents } from '../agents.ts'
import { changedPaths } from '../change/diff.ts'
import { patchState, type ConfigurationState } from '../change/state.ts'
import { withValidationErrors, type Configuration, type ConfigurationUpdate, type UpdatedConfiguration } from '../configuration.ts'
import { formatProblems } from '../load.ts'
import { ConfigError } from '../problems.ts'
import { hideUrlSecrets, redactConfig } from '../redact.ts'
import type { AgentConfig } from '../schema.ts'
import { createServedConfiguration, type ServedConfiguration, type ReadyConfiguration } from './served-configuration.ts'
import { createLatestConfiguration, type LoadedConfiguration, type LatestConfiguration } from './latest-configuration.ts'
import { createSharedFile } from './shared-file.ts'
import type { SharedDependencies } from './shared-dependencies.ts'
import { startWith } from './start.ts'
import { createMutex } from '../../concurrency/mutex.ts'

export interface SharedConfiguration extends Configuration {
  readonly agents: Agents
  /** From now on what others change is followed, and the file. */
  follow(): void
}

/** News of others' changes may be lost. */
const pollMs = 1000
/** Each time that another process was first, a change is made anew on top of theirs. */
const maxTries = 50

/** Throws `ConfigError` for a first configuration, or a newest one, that can't be used here. */
export async function openSharedConfiguration(deps: SharedDependencies): Promise<SharedConfiguration> {
  const { store, bus, now, log } = deps
  const latest = createLatestConfiguration(store)
  const tell = (version: string) => bus.publish('configuration', { version })
  const file = createSharedFile({ ...deps, latest, make, onChange: tell })
  const first = await startWith(deps, { latest, file, tell })
  const inUse = createServedConfiguration({ ...deps, latest }, first)
  const mutex = createMutex()
  let isClosed = false
  const stops: (() => void)[] = []

  /** Waits until the tools are there, or have taken too long: chats need not. */
  async function make(config: AgentConfig, version: string): Promise<AgentParts> {
    const parts = deps.createAgent(config, version)
    await parts.tools.settling()
    return parts
  }

  async function update(request: ConfigurationUpdate): Promise<UpdatedConfiguration> {
    if (isClosed) throw new ServiceError('overloaded', 'The service is stopping.', { retryAfter: 5 })
    if (request.mode === 'file') await file.look(inUse.take)
    // What was made for a try that came too late lends its tools to the next.
    const late: AgentParts[] = []
    try {
      for (let tries = 0; tries < maxTries; tries++) {
        const updated = await tryUpdate(request, late)
        if (updated) return updated
      }
      throw new ServiceError('overloaded', 'Others change the configuration all the time; nothing was changed.', { retryAfter: 1 })
    } finally {
      await Promise.all(late.map((parts) => parts.tools.close()))
    }
  }

  /** Undefined where another change came first. */
  async function tryUpdate(request: ConfigurationUpdate, late: AgentParts[]): Promise<UpdatedConfiguration | undefined> {
    const { patch, mode, expects, actor } = request
    const newest = await readNewest(latest)
    const { version } = newest
    if (!expects(version)) throw new ServiceError('precondition_failed', `The configuration is version ${version} by now.`)
    const isStored = mode !== 'memory'
    const next = await withValidationErrors(async () => patchState(newest, patch, { isStored, rules: deps.rules }))
    const diff = changedPaths(newest.used.config, next.used.config)
    const unchanged = { version, at: now(), diff, backup: undefined }
    if (mode === 'check')
      return { ...unchanged, warnings: (await withValidationErrors(() => deps.tryOut(next.used.config))).map(hideUrlSecrets) }
    const isTextSame = next.stored.text === newest.stored.text
    if (diff.length === 0 && isTextSame) return { ...unchanged, warnings: [...file.faults] }
    const ready = await addMade(newest, next, { request, diff }, late)
    if (!ready) return undefined
    log.info({ ...actor, version: ready.configuration.version, mode, diff }, 'The configuration was changed')
    const warnings = [...findFaultyTools(ready.parts.tools).map(hideUrlSecrets), ...(isStored ? file.faults : [])]
    await serve(ready)
    const backup = isTextSame ? undefined : `version ${newest.storedVersion} in the database`
    return { version: ready.configuration.version, at: ready.configuration.since, diff, warnings, backup }
  }

  async function addMade(
    newest: LoadedConfiguration,
    next: ConfigurationState,
    { request: { mode, actor }, diff }: { request: ConfigurationUpdate; diff: string[] },
    late: AgentParts[],
  ): Promise<ReadyConfiguration | undefined> {
    const version = deps.newVersion()
    const parts = await withValidationErrors(() => make(next.used.config, version))
    // Kept in any case until it is known to be in use.
    late.push(parts)
    const kind = mode === 'memory' ? 'memory' : 'put'
    const configuration = await latest.add({ ...next, version, kind, at: now(), diff, actor }, newest)
    if (!configuration) return undefined
    late.splice(late.indexOf(parts), 1)
    return { configuration, parts }
  }

  async function serve(ready: ReadyConfiguration): Promise<void> {
    inUse.take(ready)
    tell(ready.configuration.version)
    await file.look(inUse.take)
  }

  function follow(): void {
    const another = () => void inUse.follow().then(() => lookWhereChanged())
    const timer = setInterval(another, pollMs).unref()
    const watching = deps.file.watch(() => void file.look(inUse.take))
    stops.push(
      bus.subscribe('configuration', another),
      bus.onGap(another),
      () => clearInterval(timer),
      () => watching.close(),
    )
  }

  let looked = first.configuration.n
  function lookWhereChanged(): void {
    const { n } = inUse.configuration
    if (n === looked || isClosed) return
    looked = n
    void file.look(inUse.take)
  }

  return {
    agents: inUse.agents,
    follow,
    show: () => show(inUse),
    update: (request) => mutex.run(() => update(request)),
    reload: () => file.look(inUse.take),
    async close() {
      isClosed = true
      for (const stop of stops) stop()
      await mutex.idle()
      await file.idle()
    },
  }
}

function show({ configuration, faults }: ServedConfiguration) {
  const shown = { config: redactConfig(configuration.used.config), version: configuration.version, since: configuration.since }
  return faults.length === 0 ? shown : { ...shown, warnings: faults }
}

/** What is in the database may be of a later program than this one. */
async function readNewest(latest: LatestConfiguration): Promise<LoadedConfiguration> {
  return latest.read().catch((cause: unknown) => {
    if (!(cause instanceof ConfigError)) throw cause
    const problems = formatProblems('configuration', cause).join('; ')
    throw new ServiceError('configuration_not_stored', `The newest configuration can not be read by this process: ${problems}`, { cause })
  })
}
