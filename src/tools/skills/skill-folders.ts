import { glob, realpath, stat } from 'node:fs/promises'
import path from 'node:path'
import { expandBraces } from '../../configuration/glob-braces.ts'
import type { Skill, SkillFolders, SkillSet } from '../../configuration/skills/skill.ts'
import { skillLimits, type SkillsConfig } from '../../configuration/skills/skills-schema.ts'
import { messageOf } from '../../errors.ts'
import { listFolder } from './list-folder.ts'
import { readSkill, SkillError } from './read-skill.ts'

/** Milliseconds between two looks at the files: not every file system reports changes, and people save in several steps. */
const defaultPollMs = 1000
/** A set is read again while its files change. */
const maxReads = 3

interface FolderOptions {
  /** The folder of agent.yaml. */
  configDir: string
  pollMs?: number
}

/** The folders of skills, below the folder of agent.yaml. */
export function createSkillFolders({ configDir, pollMs = defaultPollMs }: FolderOptions): SkillFolders {
  const markNow = async (entries: SkillsConfig) => markOf((await findFolders(configDir, entries)).folders)

  return {
    async read(entries) {
      for (let reads = 1; ; reads++) {
        const found = await findFolders(configDir, entries)
        const mark = await markOf(found.folders)
        const set = await readFolders(found)
        if (reads === maxReads || (await markNow(entries)) === mark) return { ...set, mark }
      }
    },
    watch(entries, mark, onChange) {
      let last = mark
      let isLooking = false
      const look = async () => {
        if (isLooking) return
        isLooking = true
        const now = await markNow(entries).catch(() => last)
        if (now === last && now !== mark) onChange()
        last = now
        isLooking = false
      }
      const timer = setInterval(() => void look(), pollMs).unref()
      return { close: () => clearInterval(timer) }
    },
  }
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
