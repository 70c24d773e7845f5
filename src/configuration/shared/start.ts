import { formatProblems } from '../parse.ts'
import { ConfigError } from '../problems.ts'
import { parseSource } from '../change/change.ts'
import type { ReadyConfiguration } from './served-configuration.ts'
import type { LoadedConfiguration, LatestConfiguration } from './latest-configuration.ts'
import type { SharedFile } from './shared-file.ts'
import type { Bus, Watch } from '../../replicas/bus.ts'
import { isAudited, type ConfigurationFile, type ConfigurationStore } from '../configuration-store.ts'
import type { ConfigurationDependencies } from '../configuration.ts'
import { pinsOf } from '../skills/pins.ts'
import { logFaults, readSkills } from '../skills/skill.ts'
import type { EditSkills } from './edit-skills.ts'
import type { LocalSkills } from './local-skills.ts'

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

interface StartParts {
  latest: LatestConfiguration
  file: SharedFile
  publish(version: string): void
  skills: LocalSkills
  editSkills: EditSkills
}

/**
 * The configuration at the start of a process. The very first process stores the text of the configuration file. The first process after all
 * had stopped drops changes in memory only. A new edit of the file is taken over. Throws `ConfigError` when the very first configuration cannot
 * be used, and an error with all problems for later configurations.
 */
export async function startWith(
  deps: SharedDependencies,
  { latest, file, publish, skills, editSkills }: StartParts,
): Promise<ReadyConfiguration> {
  if ((await deps.store.newestNumber()) === 0) await seed(deps)
  try {
    if (await endMemory(deps, latest)) publish('')
    let ready: ReadyConfiguration | undefined
    await file.sync((edited) => (ready = edited))
    const edited = await editSkills.edit('start')
    const skillEdit = edited === 'refused' ? undefined : edited
    if (skillEdit) await ready?.parts.tools.close()
    if (skillEdit ?? ready) return (skillEdit ?? ready)!
    const configuration = await latest.read()
    const usable = await skills.usable(configuration)
    logFaults(deps.log, undefined, usable)
    return { configuration, parts: deps.createAgent(configuration.used.config, configuration.version, usable) }
  } catch (error) {
    throw error instanceof ConfigError ? toUnusable(error) : error
  }
}

function toUnusable(cause: ConfigError): Error {
  const lines = formatProblems('configuration', cause).map((line) => `\n  ${line}`)
  const advice = 'Fix the problems, or restore a former version: "agent-core config history", "agent-core config restore VERSION".'
  return new Error(`The configuration in the database cannot be used by this process:${lines.join('')}\n${advice}`, { cause })
}

/** Stores the very first configuration. If several processes start at once, the first process wins. */
async function seed(deps: SharedDependencies): Promise<void> {
  const text = await deps.file.read().catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return deps.sample()
    throw error
  })
  const { config } = parseSource(text)
  const skills = await readSkills(deps.agentFiles, config)
  const version = deps.newVersion()
  // An unusable configuration is not stored, because the stored configuration would prevail over a corrected file.
  await deps.createAgent(config, version).tools.close()
  const seeded = {
    version,
    storedVersion: version,
    kind: 'seed',
    text,
    diff: [],
    isAudited: isAudited(config, []),
    at: deps.now(),
  } as const
  await deps.store.add({ ...seeded, ...(skills && { skills: pinsOf(skills) }) }, 0)
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
      skills: newest.pins,
    } as const
    return (await latest.add(change, newest)) !== undefined
  }
}
