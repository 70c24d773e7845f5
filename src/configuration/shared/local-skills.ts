import type { ConfigurationStore } from '../configuration-store.ts'
import type { AgentConfig } from '../schema.ts'
import {
  changedSkills,
  mergePins,
  pinnedSkills,
  pinsOf,
  textOfPins,
  unpinned,
  withNewModules,
  type PinnedSkills,
  type SkillPins,
} from '../skills/pins.ts'
import { readSkills, type AgentFiles, type SkillSet } from '../skills/skill.ts'
import type { LoadedConfiguration } from './latest-configuration.ts'

interface LocalSkillsDependencies {
  agentFiles?: AgentFiles
  store: Pick<ConfigurationStore, 'seenAt'>
  /** Resolves to true if another process is already serving. */
  hasOthers(): Promise<boolean>
}

type Pinned = Pick<LoadedConfiguration, 'pins' | 'used'>

/** The pins and skills after a change of the files of this process. */
export interface SkillEdit extends PinnedSkills {
  /** The pins before, with those of modules that had none. */
  before: SkillPins
  /** Called once the pins are stored: the next change is compared with these files. */
  settle(): void
}

/**
 * The skills and modules of one process. The pins of the shared configuration decide: each process uses the skills whose files are the pinned
 * ones. A process pins its own files anew when they change while it runs, or when it starts with files that no configuration had before.
 */
export class LocalSkills {
  private readonly deps: LocalSkillsDependencies
  /** The files as they were last compared with the shared configuration. */
  private base: SkillPins = {}

  constructor(deps: LocalSkillsDependencies) {
    this.deps = deps
  }

  /** The pins of a configuration, with those of modules that had none. */
  async pinsNow({ used, pins }: Pinned): Promise<SkillPins> {
    return withNewModules(pins, pinsOf(await this.read(used.config)))
  }

  /** The skills that this process can use. Other files than the pinned ones are no edit: this process has them from elsewhere. */
  async usable({ used, pins }: Pinned): Promise<SkillSet | undefined> {
    const set = await this.read(used.config)
    const now = pinsOf(set)
    const accepted = withNewModules(pins, now)
    this.base = { ...pick(now, accepted), ...this.base }
    return set && pinnedSkills(set, accepted)
  }

  /** Called with the skills in use. */
  serves(set: SkillSet | undefined): void {
    const inUse = Object.entries(pinsOf(set)).filter(([, hash]) => hash !== unpinned)
    this.base = { ...this.base, ...Object.fromEntries(inUse) }
  }

  /**
   * The pins and skills after a change of the configuration: folders that it adds are pinned, and folders that it removes are not. Changes of
   * the files that are not stored yet are part of it.
   */
  async pinned({ used, pins }: Pinned, config: AgentConfig): Promise<PinnedSkills | undefined> {
    const set = await this.read(config)
    if (!set) return undefined
    const here = pinsOf(await this.read(used.config))
    const accepted = withNewModules(pins, here)
    const next = mergePins(accepted, pick(this.base, { ...accepted, ...here }), pinsOf(set))
    return { set: pinnedSkills(set, next), pins: next }
  }

  /** Undefined where the pins stay. */
  async edited({ used, pins }: Pinned): Promise<SkillEdit | undefined> {
    const set = await this.read(used.config)
    const now = pinsOf(set)
    const before = withNewModules(pins, now)
    return this.toEdit(set, { stored: pins, before, after: mergePins(before, this.base, now) })
  }

  /** As `edited`, at the start of the process. Files that a configuration had before are outdated while other processes serve. */
  async editedBefore({ used, pins }: Pinned): Promise<SkillEdit | undefined> {
    const set = await this.read(used.config)
    const now = pinsOf(set)
    const before = withNewModules(pins, now)
    this.base = before
    const isEdit = set && changedSkills(pins, now).length > 0
    const isOutdated = isEdit && (await this.deps.store.seenAt(textOfPins(now))) !== undefined && (await this.deps.hasOthers())
    return this.toEdit(set, { stored: pins, before, after: isOutdated ? before : now })
  }

  private toEdit(
    set: SkillSet | undefined,
    { stored, before, after }: { stored: SkillPins | undefined; before: SkillPins; after: SkillPins },
  ): SkillEdit | undefined {
    const settle = () => {
      this.base = pinsOf(set)
    }
    if (set && changedSkills(stored, after).length > 0) return { set: pinnedSkills(set, after), pins: after, before, settle }
    settle()
    return undefined
  }

  private read(config: AgentConfig): Promise<SkillSet | undefined> {
    return readSkills(this.deps.agentFiles, config)
  }
}

function pick(pins: SkillPins, names: SkillPins): SkillPins {
  return Object.fromEntries(Object.entries(pins).filter(([name]) => Object.hasOwn(names, name)))
}
