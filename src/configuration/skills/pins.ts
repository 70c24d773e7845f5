import type { ModuleHashes, Skill, SkillSet } from './skill.ts'

/**
 * The hash of each skill by its name, and under a gate of each module as `tools[<name>]`. A version of the configuration has the pins with which
 * the version was made.
 */
export type SkillPins = Readonly<Record<string, string>>

/** The skills and modules of a process under these pins. */
export interface PinnedSkills {
  set: SkillSet
  pins: SkillPins
}

export function pinsOf(set: Pick<SkillSet, 'skills' | 'modules'> | undefined): SkillPins {
  const skills = (set?.skills ?? []).map(({ name, hash }): [string, string] => [name, hash])
  return Object.fromEntries([...skills, ...Object.entries(set?.modules ?? {})])
}

/** The name of a module among the pins. The names of skills have no brackets. */
export function moduleKey(name: string): string {
  return `tools[${name}]`
}

function isModule(key: string): boolean {
  return key.startsWith('tools[')
}

/** Modules without a pin get the hash of their present files: no version has stated anything about those modules. */
export function withNewModules(pins: SkillPins = {}, now: SkillPins = {}): SkillPins {
  return { ...Object.fromEntries(Object.entries(now).filter(([key]) => isModule(key))), ...pins }
}

export function areSame(pins: SkillPins, others: SkillPins): boolean {
  return changedSkills(pins, others).length === 0
}

/** Paths of the skills and modules that differ, such as `skills[refunds]`, as in the list of changed values of a version. */
export function changedSkills(before: SkillPins = {}, after: SkillPins = {}): string[] {
  const names = new Set([...Object.keys(before), ...Object.keys(after)])
  return [...names].filter((name) => before[name] !== after[name]).map(toPath)
}

function toPath(key: string): string {
  return isModule(key) ? key : `skills[${key}]`
}

/** Applies the difference between two states of the files of a machine to pins. */
export function mergePins(pins: SkillPins, before: SkillPins, after: SkillPins): SkillPins {
  const isChanged = (name: string) => before[name] !== after[name]
  const unchanged = Object.entries(pins).filter(([name]) => !isChanged(name))
  const changed = Object.entries(after).filter(([name]) => isChanged(name))
  return Object.fromEntries([...unchanged, ...changed].toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

/** The pins as a text, by which a store recognises a state of the files. */
export function textOfPins(pins: SkillPins): string {
  return `skills ${JSON.stringify(Object.entries(pins).toSorted(([a], [b]) => (a < b ? -1 : 1)))}`
}

/** The skills and modules whose files are the pinned ones; each other skill or module becomes a fault. */
export function pinnedSkills(set: SkillSet, pins: SkillPins): SkillSet {
  const isPinned = ({ name, hash }: Skill) => pins[name] === hash
  const here = pinsOf(set)
  const keys = new Set([...Object.keys(here), ...Object.keys(pins).filter((key) => !isModule(key))])
  const drifted = [...keys].filter((key) => pins[key] !== here[key]).map((key) => driftOf(key, pins[key], here[key]))
  return { ...set, skills: set.skills.filter(isPinned), modules: keepPinned(set.modules, pins), faults: [...set.faults, ...drifted] }
}

/** The hash of a module whose files are not the pinned ones. No files have the hash, so that the module is not loaded. */
export const unpinned = 'none'

function keepPinned(modules: ModuleHashes, pins: SkillPins): ModuleHashes {
  return Object.fromEntries(Object.entries(modules).map(([key, hash]) => [key, pins[key] === hash ? hash : unpinned]))
}

function driftOf(key: string, pinned: string | undefined, here: string | undefined): string {
  const short = (hash: string | undefined) => (hash === undefined ? 'none' : hash.slice(0, 12))
  const hashes = `pinned ${short(pinned)}, here ${short(here)}`
  const noun = isModule(key) ? 'tool' : 'skill'
  return `${toPath(key)}: the files of this process are not those of the configuration (${hashes}); the ${noun} is not used here`
}
