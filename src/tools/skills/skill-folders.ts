import { glob, realpath, stat } from 'node:fs/promises'
import path from 'node:path'
import { expandBraces } from '../../configuration/glob-braces.ts'
import type { Skill, SkillSet } from '../../configuration/skills/skill.ts'
import { skillLimits, type SkillsConfig } from '../../configuration/skills/skills-schema.ts'
import { messageOf } from '../../errors.ts'
import { listFolder } from './list-folder.ts'
import { readSkill, SkillError } from './read-skill.ts'

/** Reads the skills of folders below `configDir`, the folder of agent.yaml. */
export async function readSkillFolders(configDir: string, entries: SkillsConfig): Promise<Pick<SkillSet, 'skills' | 'faults'>> {
  return readFolders(await findFolders(configDir, entries))
}

/** A text that differs after each change of the files. */
export async function markSkillFolders(configDir: string, entries: SkillsConfig): Promise<string> {
  return markOf((await findFolders(configDir, entries)).folders)
}

interface Folder {
  /** Relative to the folder of agent.yaml. */
  label: string
  absolute: string
}

interface FoundFolders {
  folders: Folder[]
  faults: string[]
}

async function findFolders(configDir: string, entries: SkillsConfig): Promise<FoundFolders> {
  const root = await realpath(configDir)
  const folders = new Map<string, Folder>()
  const faults: string[] = []
  for (const [index, { path: pattern }] of entries.entries()) {
    let count = 0
    for await (const label of foldersOf(root, pattern)) {
      count++
      const absolute = await realpath(path.join(root, label))
      if (!absolute.startsWith(root + path.sep)) faults.push(`${label}: leads out of the folder of agent.yaml`)
      else if (folders.size === skillLimits.skills && !folders.has(label))
        faults.push(`${label}: there are more than ${skillLimits.skills} skills`)
      else folders.set(label, { label, absolute })
      if (count > 2 * skillLimits.skills) break
    }
    if (count === 0) faults.push(`skills[${index}].path: there is no folder ${pattern}`)
  }
  return { folders: [...folders.values()].toSorted((a, b) => (a.label < b.label ? -1 : 1)), faults }
}

async function* foldersOf(root: string, pattern: string): AsyncGenerator<string> {
  for (const expanded of expandBraces(pattern)) {
    for await (const entry of glob(expanded, { cwd: root })) {
      const label = path.normalize(entry).split(path.sep).join('/').replace(/\/$/, '')
      const isHidden = label.split('/').some((part) => part.startsWith('.'))
      if (!isHidden && (await isFolder(path.join(root, label)))) yield label
    }
  }
}

async function isFolder(absolute: string): Promise<boolean> {
  return stat(absolute).then(
    (stats) => stats.isDirectory(),
    () => false,
  )
}

async function markOf(folders: readonly Folder[]): Promise<string> {
  const marks = await Promise.all(
    folders.map(async ({ label, absolute }) => [label, await listFolder(absolute).then((files) => files.map(toMark), messageOf)]),
  )
  return JSON.stringify(marks)
}

function toMark({ path: file, mark, reason }: { path: string; mark: string; reason?: string }): string {
  return `${file} ${mark} ${reason ?? ''}`
}

async function readFolders({ folders, faults }: FoundFolders): Promise<Pick<SkillSet, 'skills' | 'faults'>> {
  const skills = new Map<string, Skill>()
  const lines = [...faults]
  let textBytes = 0
  for (const { label, absolute } of folders) {
    try {
      const skill = await readSkill(absolute, label, path.basename(label))
      textBytes += textBytesOf(skill)
      if (skills.has(skill.name)) lines.push(`${label}: another folder has a skill of the same name`)
      else if (textBytes > skillLimits.allTextBytes)
        lines.push(`${label}: the texts of all skills have more than ${skillLimits.allTextBytes} bytes`)
      else skills.set(skill.name, skill)
    } catch (error) {
      if (!(error instanceof SkillError)) throw error
      lines.push(...error.lines)
    }
  }
  return { skills: [...skills.values()], faults: lines }
}

function textBytesOf({ files }: Skill): number {
  return files.values().reduce((sum, file) => sum + ('text' in file ? Buffer.byteLength(file.text) : 0), 0)
}
