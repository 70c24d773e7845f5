import type { ConfigurationStore } from '../configuration-store.ts'
import type { AgentConfig } from '../schema.ts'
import { changedSkills, mergePins, pinnedSkills, pinsOf, textOfPins, type PinnedSkills, type SkillPins } from '../skills/pins.ts'
import { readSkills, type SkillFolders, type SkillSet } from '../skills/skill.ts'
import type { LoadedConfiguration } from './latest-configuration.ts'

interface LocalSkillsDependencies {
  skillFolders?: SkillFolders
  store: Pick<ConfigurationStore, 'seenAt'>
  /** Resolves to true if another process is already serving. */
  hasOthers(): Promise<boolean>
}

type Pinned = Pick<LoadedConfiguration, 'pins' | 'used'>

/**
 * The skills of one process. The pins of the shared configuration decide: each process uses the skills whose files are the pinned ones. A
 * process pins its own files anew when they change while it runs, or when it starts with files that no configuration had before.
 */
export class LocalSkills {
  private readonly deps: LocalSkillsDependencies
  /** The files as they were last compared with the shared configuration. */
  private base: { entries: string; pins: SkillPins } = { entries: '', pins: {} }

  constructor(deps: LocalSkillsDependencies) {
    this.deps = deps
  }

  /** The skills that this process can use. */
  async usable({ used, pins }: Pinned): Promise<SkillSet | undefined> {
    const set = await this.read(used.config)
    return set && pinnedSkills(set, pins ?? {})
  }

  /** The pins and skills after a change of the configuration: folders that it adds are pinned, and folders that it removes are not. */
  async pinned({ used, pins = {} }: Pinned, config: AgentConfig): Promise<PinnedSkills | undefined> {
    const set = await this.read(config)
    if (!set) return undefined
    const next = mergePins(pins, pinsOf(await this.read(used.config)), pinsOf(set))
    return { set: pinnedSkills(set, next), pins: next }
  }

  /** The pins and skills after a change of the files of this process; undefined where the pins stay. */
  async edited({ used, pins = {} }: Pinned): Promise<PinnedSkills | undefined> {
    const set = await this.read(used.config)
    const now = pinsOf(set)
    const before = this.baseFor(used.config, now)
    this.base = { entries: entriesOf(used.config), pins: now }
    return toEdit(set, pins, mergePins(pins, before, now))
  }

  /** As `edited`, at the start of the process. Files that a configuration had before are outdated while other processes serve. */
  async editedBefore({ used, pins = {} }: Pinned): Promise<PinnedSkills | undefined> {
    const set = await this.read(used.config)
    const now = pinsOf(set)
    this.base = { entries: entriesOf(used.config), pins: now }
    if (!set || changedSkills(pins, now).length === 0) return undefined
    const isOutdated = (await this.deps.store.seenAt(textOfPins(now))) !== undefined && (await this.deps.hasOthers())
    return isOutdated ? undefined : toEdit(set, pins, now)
  }

  /** Other folders than before are no edit: the change of the configuration has pinned them. */
  private baseFor(config: AgentConfig, now: SkillPins): SkillPins {
    const { entries, pins } = this.base
    if (entries === entriesOf(config)) return pins
    return Object.fromEntries(Object.entries(now).map(([name, hash]) => [name, pins[name] ?? hash]))
  }

  private read(config: AgentConfig): Promise<SkillSet | undefined> {
    return readSkills(this.deps.skillFolders, config)
  }
}

function entriesOf({ skills }: Pick<AgentConfig, 'skills'>): string {
  return JSON.stringify(skills)
}

function toEdit(set: SkillSet | undefined, before: SkillPins, pins: SkillPins): PinnedSkills | undefined {
  return set && changedSkills(before, pins).length > 0 ? { set: pinnedSkills(set, pins), pins } : undefined
}
