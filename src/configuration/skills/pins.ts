import type { Skill, SkillSet } from './skill.ts'

/** The hash of each skill by its name. A version of the configuration has the pins with which it was made. */
export type SkillPins = Readonly<Record<string, string>>

/** The skills of a process under these pins. */
export interface PinnedSkills {
  set: SkillSet
  pins: SkillPins
}

export function pinsOf(set: Pick<SkillSet, 'skills'> | undefined): SkillPins {
  return Object.fromEntries((set?.skills ?? []).map(({ name, hash }) => [name, hash]))
}

/** Paths of the skills that differ, such as `skills[refunds]`, as in the list of changed values of a version. */
export function changedSkills(before: SkillPins = {}, after: SkillPins = {}): string[] {
  const names = new Set([...Object.keys(before), ...Object.keys(after)])
  return [...names].filter((name) => before[name] !== after[name]).map((name) => `skills[${name}]`)
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

/** The skills whose files are the pinned ones; each other skill becomes a fault. */
export function pinnedSkills(set: SkillSet, pins: SkillPins): SkillSet {
  const isPinned = ({ name, hash }: Skill) => pins[name] === hash
  const drifted = set.skills.filter((skill) => !isPinned(skill)).map(({ name, hash }) => driftOf(name, pins[name], hash))
  const names = new Set(set.skills.map(({ name }) => name))
  const missing = Object.keys(pins)
    .filter((name) => !names.has(name))
    .map((name) => driftOf(name, pins[name], undefined))
  return { ...set, skills: set.skills.filter(isPinned), faults: [...set.faults, ...drifted, ...missing] }
}

function driftOf(name: string, pinned: string | undefined, here: string | undefined): string {
  const short = (hash: string | undefined) => (hash === undefined ? 'none' : hash.slice(0, 12))
  return `skills[${name}]: the files of this process are not those of the configuration (pinned ${short(pinned)}, here ${short(here)}); the skill is not used here`
}
