import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { AgentParts } from '../agent.ts'
import { overrideOrThrow, type Gate } from '../change/gate.ts'
import { changedPaths, type ConfigData } from '../change/merge.ts'
import { editState } from '../change/state.ts'
import { type ConfigurationFile, type FileNote, FileChanged, readIfPresent, type ConfigurationStore } from '../configuration-store.ts'
import { ConfigError } from '../problems.ts'
import type { AgentConfig } from '../schema.ts'
import { parseEdit } from '../change/change.ts'
import { readYaml } from '../yaml-source.ts'
import { changedSkills } from '../skills/pins.ts'
import type { SkillSet } from '../skills/skill.ts'
import type { LocalSkills } from './local-skills.ts'
import type { ReadyConfiguration } from './served-configuration.ts'
import type { LoadedConfiguration, LatestConfiguration } from './latest-configuration.ts'
import { fieldsOf } from '../../json/shape.ts'
import { toRefused, unused, type RefusedEdit } from '../file/refused-edit.ts'

export interface SharedFileDependencies {
  file: ConfigurationFile
  store: Pick<ConfigurationStore, 'seenAt' | 'idOf' | 'findText' | 'lastFromFile'>
  latest: LatestConfiguration
  /** Creates an agent and waits for the tools. Throws `ConfigError`. */
  make(config: AgentConfig, version: string, skills: SkillSet | undefined): Promise<AgentParts>
  skills: Pick<LocalSkills, 'pinned' | 'pinsNow'>
  gate: Gate
  /** Called after an edit was taken over. */
  onChange(version: string): void
  newVersion(): string
  now(): number
  log: Logger
}

/** The text on which the file and the shared configuration `n` last agreed. */
interface AgreedText {
  text: string
  n: number
}

/** Gets the configuration of an edit that was taken over. */
type Take = (ready: ReadyConfiguration) => void

const settleMs = 300

/** The configuration file of one process. Edits go into the shared configuration, and changes of the shared configuration are written to the file. */
export class SharedFile {
  private readonly deps: SharedFileDependencies
  /** Undefined before the first comparison and without a file. */
  private base: AgreedText | undefined
  /** The note of an earlier process in this data directory. */
  private note: FileNote | undefined
  private isFirst = true
  /** A text that is not in effect with the reasons. */
  private refused: RefusedEdit | undefined
  /** The number of the last configuration that could not be written; 0 without a failure. */
  private unwritten = 0
  private loggedError: string | undefined
  private queue: Promise<void> = Promise.resolve()

  constructor(deps: SharedFileDependencies) {
    this.deps = deps
  }

  /** Takes over a new edit, then writes the newest configuration. Never rejects. */
  sync(take: Take): Promise<void> {
    const done = this.queue.then(() => this.compareAndWrite(take))
    return (this.queue = done.then(
      () => void (this.loggedError = undefined),
      (error: unknown) => this.logFailure(error),
    ))
  }

  /** The problems of an edit that is not in effect, a line each. */
  get faults(): readonly string[] {
    return this.refused?.faults ?? []
  }

  /** Resolves when no work is in progress. */
  idle(): Promise<void> {
    return this.queue
  }

  private async compareAndWrite(take: Take): Promise<void> {
    const { file, store } = this.deps
    if (this.isFirst) {
      const note = await file.loadNote()
      // A note about another database is ignored.
      this.note = note?.database === store.idOf('') ? note : undefined
    }
    this.isFirst = false
    for (;;) {
      const text = await readIfPresent(file)
      const newest = await this.compare(text, take)
      if (newest === 'changed') continue
      if (newest !== 'refused') await this.write(newest, text)
      return
    }
  }

  /**
   * The newest configuration, where the file has no new edit any more; `refused` where the file has an edit that is not in effect; `changed`
   * where the file changed meanwhile.
   */
  private async compare(text: string | undefined, take: Take): Promise<LoadedConfiguration | 'refused' | 'changed'> {
    const { latest, store, onChange } = this.deps
    for (;;) {
      const newest = await latest.read()
      if (text === undefined || text === this.base?.text) return newest
      if (text === newest.stored.text) return this.agree(text, newest.n, newest)
      const seenAt = await store.seenAt(text)
      if (seenAt !== undefined && !this.isGoneBackTo(text, seenAt)) return this.agree(text, seenAt, newest)
      if (text === this.refused?.text && !this.refused.isOfGate) return 'refused'
      if (seenAt !== undefined && !(await this.isStill(text))) return 'changed'
      const ready = await this.takeOver(newest, text)
      if (ready === 'refused') return ready
      // Another process stored a configuration first.
      if (!ready) continue
      take(ready)
      onChange(ready.configuration.version)
      return this.agree(text, ready.configuration.n, ready.configuration)
    }
  }

  /** True if a former text is an edit again: only when the file held a later text before. */
  private isGoneBackTo(text: string, seenAt: number): boolean {
    const { base, note } = this
    if (base) return seenAt <= base.n
    return note !== undefined && note.id !== this.deps.store.idOf(text) && seenAt <= note.n
  }

  /** Resolves to true if the text is stable: another process with the same file may have written an outdated text and may write again soon. */
  private async isStill(text: string): Promise<boolean> {
    await sleep(settleMs)
    return (await readIfPresent(this.deps.file)) === text
  }

  private async agree(text: string, n: number, newest: LoadedConfiguration): Promise<LoadedConfiguration> {
    const { file, store, log } = this.deps
    this.base = { text, n }
    this.refused = undefined
    await file.saveNote({ database: store.idOf(''), n, id: store.idOf(text) }).catch((err: unknown) => {
      log.debug({ err }, 'The text of the configuration file could not be recorded')
    })
    return newest
  }

  /** Undefined where another process stored a configuration first. */
  private async takeOver(newest: LoadedConfiguration, text: string): Promise<ReadyConfiguration | 'refused' | undefined> {
    const { file, log } = this.deps
    try {
      return await addEdit(newest, { text, dataBefore: await this.dataBefore(newest) }, this.deps)
    } catch (error) {
      const refused = toRefused(text, file.name, error)
      if (!refused) throw error
      if (text !== this.refused?.text) log.error({ problems: refused.faults }, `${file.name} ${unused(refused)}`)
      this.refused = refused
      return 'refused'
    }
  }

  /** The content that the editor of the file started from. A former text need not be valid for this program any more. */
  private async dataBefore(newest: LoadedConfiguration): Promise<ConfigData> {
    const { note } = this
    const { store } = this.deps
    const noted = note && (await store.findText(note.n, note.id))
    const text = this.base?.text ?? noted ?? (await store.lastFromFile())
    return text === undefined ? newest.stored.data : fieldsOf(readYaml(text).value)
  }

  /** Writes the text to the file, unless the file changed meanwhile. The store stays authoritative when the file cannot be written. */
  private async write(configuration: LoadedConfiguration, text: string | undefined): Promise<void> {
    const { file, latest, log } = this.deps
    const next = configuration.stored.text
    if (text === next || this.unwritten === configuration.n) return
    try {
      if (text === undefined) await file.create(next)
      else await file.replace(text, next)
      this.unwritten = 0
      await this.agree(next, configuration.n, configuration)
      const newest = await latest.read()
      if (newest.n > configuration.n) await this.write(newest, next)
    } catch (error) {
      if (error instanceof FileChanged || error instanceof ConfigError) return
      const { code = 'unknown error' } = error as NodeJS.ErrnoException
      if (this.unwritten === 0) log.info({ code }, `${file.name} cannot be written; the configuration is stored in the database only`)
      this.unwritten = configuration.n
    }
  }

  private logFailure(error: unknown): void {
    const { log, file } = this.deps
    if (String(error) === this.loggedError) return
    this.loggedError = String(error)
    log.warn({ err: error }, `${file.name} could not be compared with the configuration in the database`)
  }
}

/** Stores an edit of the file as the newest configuration. Undefined where another process stored one first. Throws `ConfigError`, and `gate_not_passed`. */
async function addEdit(
  newest: LoadedConfiguration,
  { text, dataBefore }: { text: string; dataBefore: ConfigData },
  { file, latest, make, skills, gate, newVersion, now, log }: SharedFileDependencies,
): Promise<ReadyConfiguration | undefined> {
  const next = editState(newest, dataBefore, parseEdit(text))
  const pinned = await skills.pinned(newest, next.used.config)
  const running = { ...newest, pins: await skills.pinsNow(newest) }
  overrideOrThrow(await gate(running, { ...next, pins: pinned?.pins }), undefined, `The edit of ${file.name}`)
  const diff = [...changedPaths(newest.used.config, next.used.config), ...changedSkills(newest.pins, pinned?.pins)]
  const version = newVersion()
  const parts = await make(next.used.config, version, pinned?.set)
  const change = { ...next, version, kind: 'edit', at: now(), file: text, diff, skills: pinned?.pins } as const
  const configuration = await latest.add(change, newest).catch(async (error: unknown) => {
    await parts.tools.close()
    throw error
  })
  if (!configuration) {
    await parts.tools.close()
    return undefined
  }
  log.info({ version, diff }, `${file.name} was edited; the configuration was changed`)
  return { configuration, parts }
}
