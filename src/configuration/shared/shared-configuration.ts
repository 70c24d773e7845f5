import { ServiceError } from '../../errors.ts'
import { findFaultyTools, type AgentParts, type Agents } from '../agent.ts'
import { logChange } from '../change/gate.ts'
import { maskText } from '../change/mask-text.ts'
import { admitChange, tryChange, type AdmittedChange } from '../admit.ts'
import {
  createSettledAgent,
  kindOf,
  outdated,
  previewChange,
  withValidationErrors,
  type Configuration,
  type ConfigurationUpdate,
  type UpdatedConfiguration,
  placeOf,
  readHistory,
  readVersion,
} from '../configuration.ts'
import { formatProblems } from '../parse.ts'
import { ConfigError } from '../problems.ts'
import { hideUrlSecrets, redactConfig } from '../redact.ts'
import type { AgentConfig } from '../schema.ts'
import { pinsOf } from '../skills/pins.ts'
import type { SkillSet } from '../skills/skill.ts'
import { createEditSkills } from './edit-skills.ts'
import { LocalSkills } from './local-skills.ts'
import { createServedConfiguration, type ServedConfiguration, type ReadyConfiguration } from './served-configuration.ts'
import { createLatestConfiguration, type LoadedConfiguration, type LatestConfiguration } from './latest-configuration.ts'
import { SharedFile } from './shared-file.ts'
import { type SharedDependencies, startWith } from './start.ts'
import { watchEvery } from '../../replicas/bus.ts'
import { createMutex } from '../../concurrency/mutex.ts'
import { reachState } from '../../states.ts'

export interface SharedConfiguration extends Configuration {
  readonly agents: Agents
  /** Starts to follow changes of other processes and edits of the file. */
  follow(): void
}

/** The interval of polling, because messages of the bus may be lost. */
const pollMs = 1000
/** The limit of attempts. A change is repeated on top of the newest configuration when another process was first. */
const maxTries = 50

/** Opens the shared configuration. Throws `ConfigError` when the first configuration cannot be used by this process. */
export async function openSharedConfiguration(deps: SharedDependencies): Promise<SharedConfiguration> {
  const { store, bus, now, log } = deps
  const latest = createLatestConfiguration(store)
  const make = (config: AgentConfig, version: string, set: SkillSet | undefined) => createSettledAgent(deps, config, version, set)
  const publish = (version: string) => bus.publish('configuration', { version })
  const skills = new LocalSkills(deps)
  const editSkills = createEditSkills({ ...deps, latest, skills, publish })
  const file = new SharedFile({ ...deps, latest, make, skills, onChange: publish })
  const first = await startWith(deps, { latest, file, publish, skills, editSkills })
  const served = createServedConfiguration({ ...deps, latest, skills, onServed: () => watchSkills() }, first)
  const mutex = createMutex()
  let isClosed = false
  let stop = (): void => undefined
  let watching: { close(): void } | undefined

  /** Watches the files of the served skills. */
  function watchSkills(): void {
    const { skills: inUse, config } = served.agents.current()
    skills.serves(inUse)
    watching?.close()
    // A refused change is tried again, because an experiment may pass.
    const mark = editSkills.faults.length > 0 ? '' : inUse?.mark
    watching = mark === undefined || isClosed ? undefined : deps.agentFiles?.watch(config, mark, () => void mutex.run(followSkills))
  }

  async function followSkills(): Promise<void> {
    try {
      const edited = await editSkills.edit('running')
      if (edited === 'refused') return
      if (edited) served.take(edited)
      else await served.refresh()
    } catch (err) {
      log.warn({ err }, 'Changed files of skills could not be compared with the configuration in the database')
    }
  }

  async function update(request: ConfigurationUpdate): Promise<UpdatedConfiguration> {
    if (isClosed) throw new ServiceError('overloaded', 'The service is stopping.', { retryAfter: 5 })
    if (request.mode === 'file') await file.sync(served.take)
    // Agents of failed attempts stay open until the end, because the next attempt can reuse the tools.
    const unusedParts: AgentParts[] = []
    try {
      for (let tries = 0; tries < maxTries; tries++) {
        const updated = await tryUpdate(request, unusedParts)
        if (updated) return updated
        reachState('configuration-raced')
      }
      throw new ServiceError('overloaded', 'Concurrent changes prevented this change; nothing was changed.', { retryAfter: 1 })
    } finally {
      await Promise.all(unusedParts.map((parts) => parts.tools.close()))
    }
  }

  /** Undefined when another change came first. */
  async function tryUpdate(request: ConfigurationUpdate, unusedParts: AgentParts[]): Promise<UpdatedConfiguration | undefined> {
    const { mode, actor } = request
    const newest = await readNewest(latest)
    const { version } = newest
    if (!request.expects(version)) {
      reachState('configuration-refused')
      throw outdated(version)
    }
    const prepared = await admitChange(newest, request, deps, {
      before: await skills.pinsNow(newest),
      after: (config) => skills.pinned(newest, config),
    })
    const { next, diff, oddities } = prepared
    const unchanged = { version, at: now(), diff, backup: undefined }
    if (mode === 'check') return { ...unchanged, warnings: await tryChange(prepared, request, deps) }
    const isTextSame = next.stored.text === newest.stored.text
    if (diff.length === 0 && isTextSame) return { ...unchanged, warnings: [...file.faults] }
    const ready = await addConfiguration({ newest, prepared, request, unusedParts }, latest, deps)
    if (!ready) return undefined
    const fields = { tenant: actor.tenant, sub: actor.sub, version: ready.configuration.version, mode, diff }
    logChange(log, 'The configuration was changed', fields, prepared.override)
    const warnings = [...findFaultyTools(ready.parts.tools).map(hideUrlSecrets), ...oddities, ...(mode === 'memory' ? [] : file.faults)]
    await serve(ready)
    const backup = isTextSame ? undefined : `version ${newest.storedVersion} in the database`
    return { version: ready.configuration.version, at: ready.configuration.since, diff, warnings, backup }
  }

  async function serve(ready: ReadyConfiguration): Promise<void> {
    served.take(ready)
    publish(ready.configuration.version)
    await file.sync(served.take)
  }

  return {
    agents: served.agents,
    follow() {
      watchSkills()
      stop = followOthers(deps, { served, sync: () => file.sync(served.take), syncedNumber: first.configuration.n })
    },
    show: () => show(served, [...file.faults, ...editSkills.faults]),
    showText: () => maskText(served.configuration.stored),
    history: (page) => readHistory(store, page),
    version: (version) => readVersion(store, version),
    async preview(preview) {
      const newest = await readNewest(latest)
      const pinsAfter = async (config: AgentConfig) => (await skills.pinned(newest, config))?.pins ?? {}
      return previewChange(newest, preview, { ...deps, pins: pinsOf(served.agents.current().skills), pinsAfter })
    },
    update: (request) => mutex.run(() => update(request)),
    reload: () => file.sync(served.take),
    async close() {
      isClosed = true
      watching?.close()
      stop()
      await mutex.idle()
      await file.idle()
    },
  }
}

interface AddedChange {
  newest: LoadedConfiguration
  prepared: AdmittedChange
  request: ConfigurationUpdate
  /** Gets the agent, unless the configuration was added. */
  unusedParts: AgentParts[]
}

/** Undefined where another configuration was added first. */
async function addConfiguration(
  { newest, prepared: { next, diff, override, skills }, request, unusedParts }: AddedChange,
  latest: LatestConfiguration,
  deps: SharedDependencies,
): Promise<ReadyConfiguration | undefined> {
  const version = deps.newVersion()
  const parts = await withValidationErrors(() => createSettledAgent(deps, next.used.config, version, skills?.set), placeOf(request.change))
  unusedParts.push(parts)
  const kind = kindOf(request)
  const change = { ...next, version, kind, at: deps.now(), diff, actor: request.actor, skills: skills?.pins, ...(override && { override }) }
  const configuration = await latest.add(change, newest)
  if (!configuration) return undefined
  unusedParts.splice(unusedParts.indexOf(parts), 1)
  return { configuration, parts }
}

interface Following {
  served: ServedConfiguration
  /** Compares the file with the configuration. Never rejects. */
  sync(): Promise<void>
  /** The number of the configuration with which the file was last compared. */
  syncedNumber: number
}

/** Follows changes of other processes and edits of the file, until the returned function is called. */
function followOthers({ bus, file, watch }: SharedDependencies, { served, sync, syncedNumber }: Following): () => void {
  let isStopped = false

  async function followAndSync(): Promise<void> {
    await served.follow()
    const { n } = served.configuration
    if (n !== syncedNumber && !isStopped) {
      syncedNumber = n
      void sync()
    }
    if (served.hasProblem) throw new Error('The newest configuration is not in use yet.')
  }

  const onNewConfiguration = () => void followAndSync().catch(() => undefined)
  const watching = file.watch(() => void sync())
  const stops = [
    bus.subscribe('configuration', onNewConfiguration),
    bus.onGap(onNewConfiguration),
    (watch ?? watchEvery(pollMs))(followAndSync),
    () => watching.close(),
  ]
  return () => {
    isStopped = true
    for (const stop of stops) stop()
  }
}

function show({ configuration, faults, agents }: ServedConfiguration, fileFaults: readonly string[]) {
  const configurationView = { config: redactConfig(configuration.used.config), version: configuration.version, since: configuration.since }
  const warnings = [...faults, ...fileFaults, ...(agents.current().skills?.faults ?? [])]
  return warnings.length === 0 ? configurationView : { ...configurationView, warnings }
}

/** Reads the newest configuration. A newer release of the service may have stored a configuration that this release cannot use. */
async function readNewest(latest: LatestConfiguration): Promise<LoadedConfiguration> {
  return latest.read().catch((cause: unknown) => {
    if (!(cause instanceof ConfigError)) throw cause
    const problems = formatProblems('configuration', cause).join('; ')
    throw new ServiceError('configuration_not_stored', `The newest configuration cannot be used by this process: ${problems}`, { cause })
  })
}
