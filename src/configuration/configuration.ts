import type { Logger } from 'pino'
import type { ActingIn } from '../audit/acts.ts'
import { ServiceError } from '../errors.ts'
import type { AgentParts } from './agent.ts'
import { type ConfigContent, type ServiceRules, parseSource } from './change/change.ts'
import type { Gate } from './change/gate.ts'
import { changedPaths } from './change/merge.ts'
import { changeState, type ConfigurationState, type RequestedChange } from './change/state.ts'
import { describeOddities } from './models/findings.ts'
import type { ChangeKind, PastConfiguration, ConfigurationStore, StoredConfiguration } from './configuration-store.ts'
import { ConfigError, type ConfigProblem } from './problems.ts'
import type { AgentConfig } from './schema.ts'
import type { SkillPins } from './skills/pins.ts'
import type { AgentFiles, SkillSet } from './skills/skill.ts'
import { editYaml } from './change/edit-yaml.ts'
import { maskText } from './change/mask-text.ts'

/** The configuration of a running service. Callers read and change the configuration; edits of the file are followed. */
export interface Configuration {
  show(): ShownConfiguration
  /** The stored YAML text with masked secrets. Changes in memory only are not part of it. */
  showText(): string
  /** The recorded versions, newest first. */
  history(page: HistoryPage): Promise<ConfigurationHistory>
  /** A recorded version with its text. Throws `not_found`, or `validation` if this release cannot use the text. */
  version(version: string): Promise<VersionText>
  /**
   * Changes the configuration atomically. Updates run one at a time. Throws `validation` with all faults and paths, `forbidden`,
   * `precondition_failed`, `not_found` for a version that is not recorded, `gate_not_passed`, or `configuration_not_stored`. The last means: the database is unreachable; or, without a
   * database, the file cannot be written or holds an edit that is not in effect.
   */
  update(update: ConfigurationUpdate): Promise<UpdatedConfiguration>
  /** The content that a change would bring into use, with the files of now. Nothing changes. Throws as `update` does. */
  preview(preview: ConfigurationPreview): Promise<PreviewedContent>
  /** Takes over an edit of the file. Faults of the edit are logged, and the configuration stays unchanged. */
  reload(): Promise<void>
  /** Refuses further changes. Resolves when no change is in progress. */
  close(): Promise<void>
}

export interface ShownConfiguration {
  /** The configuration with all defaults and masked secrets. */
  config: AgentConfig
  version: string
  /** The start of use in epoch milliseconds. */
  since: number
  /** The reasons why this process does not use a newer configuration, or an edit of the file. Absent without reasons. */
  warnings?: readonly string[]
}

export interface HistoryPage {
  limit: number
  /** The number of the last version of the page before. */
  before: number | undefined
}

export interface ConfigurationHistory {
  versions: PastConfiguration[]
  hasMore: boolean
}

/** A recorded version with its YAML text, changes in memory only included, and masked secrets. */
export interface VersionText {
  version: string
  kind: ChangeKind
  /** The start of use in epoch milliseconds. */
  at: number
  text: string
}

export interface ConfigurationUpdate {
  change: RequestedChange | RestoredVersion
  /** `check`: nothing changes. `memory`: the stored configuration stays unchanged, and the change ends with the last process. */
  mode: 'file' | 'memory' | 'check'
  /** Returns true if the caller expects the version (`If-Match`). */
  expects(version: string): boolean
  /** The caller, for the log and the history. */
  actor: ActingIn
  /** The caller's permissions. */
  permissions: ReadonlySet<string>
  /** The reason to make the change although the gate refuses it. */
  override?: string | undefined
}

/** Brings a recorded version back, with its secrets. The version is checked as a caller's own text is. */
export interface RestoredVersion {
  kind: 'restore'
  version: string
}

/** A change on a recorded version, which may be the version in use. */
export interface ConfigurationPreview extends Pick<ConfigurationUpdate, 'change' | 'permissions'> {
  /** The version that is changed. Default: the version in use. */
  base?: string | undefined
  /** The places of the change and of the base in the request, for their faults. */
  at: { change: readonly string[]; base: readonly string[] }
}

export interface PreviewedContent extends ConfigContent {
  /** The files of its skills and modules; those of the agent for the version in use. */
  pins: SkillPins
}

export interface UpdatedConfiguration {
  version: string
  /** The time of the change in epoch milliseconds. */
  at: number
  /** Paths of the changed values. */
  diff: string[]
  warnings: string[]
  /** The location of the former text: a path in the data directory, or a version in the database. */
  backup: string | undefined
}

/** The dependencies for preparing a configuration. */
export interface ConfigurationDependencies {
  /** Throws `ConfigError` for models that cannot be created. `skills`: absent where none are configured. */
  createAgent(config: AgentConfig, version: string, skills?: SkillSet): AgentParts
  /** Default: no skills are read, and no modules are pinned. */
  agentFiles?: AgentFiles
  /**
   * Tests models and tools without running configured commands, and returns a line per failure. Throws `ConfigError` as `createAgent` does.
   * Takes seconds, not minutes.
   */
  tryOut(config: AgentConfig): Promise<string[]>
  rules: ServiceRules
  gate: Gate
  newVersion(): string
  now(): number
  log: Logger
}

/** The kind of the version that an update makes. */
export function kindOf({ change, mode }: Pick<ConfigurationUpdate, 'change' | 'mode'>): ChangeKind {
  if (mode === 'memory') return 'memory'
  return change.kind === 'restore' ? 'restore' : 'put'
}

/** Turns a `ConfigError` of `work` into the error `validation`, with the faults of the request's body. `prefix`: the place of the configuration. */
export async function withValidationErrors<T>(work: () => Promise<T>, prefix: readonly string[] = ['body', 'configuration']): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    const faults = error.problems.map(({ at, message, line }: ConfigProblem) => ({
      loc: [...prefix, ...at],
      msg: message,
      type: 'value_error',
      ...(line !== undefined && { line }),
    }))
    throw new ServiceError('validation', error.message, { faults, cause: error })
  }
}

/** A requested change, applied to the current configuration, but not in effect yet. */
export interface PreparedChange {
  next: ConfigurationState
  /** Paths of the changed values. */
  diff: string[]
  /** Settings that a model of the new configuration does not have. */
  oddities: string[]
}

/** Applies an update to `current`. Throws `validation`, and `not_found` for an unknown version that is to be restored. */
export async function prepareChange(
  current: ConfigurationState,
  { change, mode, permissions }: Pick<ConfigurationUpdate, 'change' | 'mode' | 'permissions'>,
  { store, rules }: ChangeSources,
  at: readonly string[] = placeOf(change),
): Promise<PreparedChange> {
  const requested = await toRequestedChange(change, store)
  const options = { isStored: mode !== 'memory', rules: { ...rules, grantable: permissions } }
  const next = await withValidationErrors(async () => changeState(current, requested, options), at)
  return { next, diff: changedPaths(current.used.config, next.used.config), oddities: describeOddities(next.used.config) }
}

interface ChangeSources {
  store: ConfigurationStore
  rules: ServiceRules
}

interface PreviewSources extends ChangeSources {
  /** The files of the agent in use. */
  pins: SkillPins
  pinsAfter(config: AgentConfig): Promise<SkillPins>
}

/** Applies a change to a version, as an update of the version would. `current` has the version `version`. */
export async function previewChange(
  current: ConfigurationState & { version: string },
  preview: ConfigurationPreview,
  { pins, pinsAfter, ...sources }: PreviewSources,
): Promise<PreviewedContent> {
  const { change } = preview
  if (change.kind === 'restore' && change.version === current.version) return { ...current.used, pins }
  const content = await previewContent(current, preview, sources)
  return { ...content, pins: await pinsAfter(content.config) }
}

async function previewContent(
  current: ConfigurationState & { version: string },
  { change, base, permissions, at }: ConfigurationPreview,
  sources: ChangeSources,
): Promise<ConfigContent> {
  const isInUse = (version: string | undefined) => version === undefined || version === current.version
  const restore = (version: string, place: readonly string[]) =>
    prepareChange(current, { change: { kind: 'restore', version }, mode: 'file', permissions }, sources, place)
  if (change.kind === 'restore') return (await restore(change.version, at.change)).next.used
  const from = base === undefined || isInUse(base) ? current : (await restore(base, at.base)).next
  return (await prepareChange(from, { change, mode: 'file', permissions }, sources, at.change)).next.used
}

/** Creates an agent, and waits until the tools are ready or the time is up. Chats then need not wait. */
export async function createSettledAgent(
  { createAgent }: Pick<ConfigurationDependencies, 'createAgent'>,
  config: AgentConfig,
  version: string,
  skills: SkillSet | undefined,
): Promise<AgentParts> {
  const parts = createAgent(config, version, skills)
  await parts.tools.settling()
  return parts
}

/** The error of an update that expects another version than the current one. */
export function outdated(version: string): ServiceError {
  return new ServiceError('precondition_failed', `The configuration has changed. The current version is ${version}.`)
}

/** Reads one page of the recorded versions. */
export async function readHistory(store: ConfigurationStore, { limit, before }: HistoryPage): Promise<ConfigurationHistory> {
  const versions = await store.page(limit + 1, before)
  return { versions: versions.slice(0, limit), hasMore: versions.length > limit }
}

/** The change that an update asks for. For a restoration, the text of the recorded version; throws `not_found` for an unknown version. */
async function toRequestedChange(change: ConfigurationUpdate['change'], store: ConfigurationStore): Promise<RequestedChange> {
  if (change.kind !== 'restore') return change
  return { kind: 'text', text: textOf(await find(change.version, store)) }
}

/** Reads a recorded version with its text, without secrets. Throws `not_found`, or `validation` if this release cannot use the text. */
export async function readVersion(store: ConfigurationStore, version: string): Promise<VersionText> {
  const former = await find(version, store)
  const text = await withValidationErrors(async () => maskText(parseSource(textOf(former))), ['path', 'version'])
  return { version, kind: former.kind, at: former.at, text }
}

async function find(version: string, store: ConfigurationStore): Promise<StoredConfiguration> {
  const former = await store.find(version)
  if (!former) throw new ServiceError('not_found', `There is no version ${JSON.stringify(version)} of the configuration.`)
  return former
}

/** A version that was in memory only has changes beside its text. */
function textOf({ text, used }: StoredConfiguration): string {
  return used ? editYaml(text, parseSource(text).data, used) : text
}

/** The place of the configuration in the request, for the faults of a change. */
export function placeOf({ kind }: ConfigurationUpdate['change']): readonly string[] {
  return kind === 'patch' ? ['body', 'configuration'] : ['body']
}
