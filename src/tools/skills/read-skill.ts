import { hash } from 'node:crypto'
import { constants, open } from 'node:fs/promises'
import path from 'node:path'
import { ConfigError } from '../../configuration/problems.ts'
import type { Skill, SkillFile } from '../../configuration/skills/skill.ts'
import { skillLimits } from '../../configuration/skills/skills-schema.ts'
import { messageOf } from '../../errors.ts'
import { listFolder, type ListedFile } from './list-folder.ts'
import { parseSkill } from './parse-skill.ts'

const skillFile = 'SKILL.md'

/** Why a folder is no skill: `skills/refunds/SKILL.md:3 name: must be ...`, a line each. */
export class SkillError extends Error {
  override readonly name = 'SkillError'
  readonly lines: readonly string[]

  constructor(lines: readonly string[]) {
    super(lines.join('\n'))
    this.lines = lines
  }
}

/** Reads a folder with all of its files. Throws `SkillError`; `label` is the folder as people know it, `name` the last part of its path. */
export async function readSkill(folder: string, label: string, name = path.basename(folder)): Promise<Skill> {
  const listed = await listFolder(folder).catch((error: unknown) => {
    throw new SkillError([`${label}: ${'code' in (error as Error) ? 'cannot be read' : messageOf(error)}`])
  })
  const contents = await Promise.all(listed.map(readContent))
  const files = new Map(listed.map((file, index) => [file.path, contents[index]!.file]))
  const main = files.get(skillFile)
  if (!main) throw new SkillError([`${label}: has no ${skillFile}`])
  if ('reason' in main) throw new SkillError([`${label}/${skillFile}: ${main.reason}`])
  const lines = listed.map((file, index) => `${contents[index]!.digest}  ${file.path}\n`)
  return { ...parse(main.text, name, label), files, hash: hash('sha256', lines.join('')) }
}

function parse(text: string, name: string, label: string) {
  try {
    return parseSkill(text, name)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    throw new SkillError(
      error.problems.map(({ path: at, message, line }) => `${label}/${skillFile}:${line ?? 1} ${at ? `${at}: ` : ''}${message}`),
    )
  }
}

/** `digest`: SHA-256 of the bytes, as `sha256sum` prints it; `-` for a file that is never read. */
async function readContent({ absolute, reason }: ListedFile): Promise<{ digest: string; file: SkillFile }> {
  if (reason !== undefined) return { digest: '-', file: { reason } }
  try {
    const bytes = await readBounded(absolute)
    return { digest: hash('sha256', bytes), file: toFile(bytes) }
  } catch (error) {
    return { digest: '-', file: { reason: 'code' in (error as Error) ? 'cannot be read' : messageOf(error) } }
  }
}

/** The file may have changed since it was listed: a pipe must not hold the process, and a large file must not fill its memory. */
async function readBounded(absolute: string): Promise<Buffer> {
  await using handle = await open(absolute, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW)
  const stats = await handle.stat()
  if (!stats.isFile()) throw new Error('is not a file')
  if (stats.size > skillLimits.skillBytes) throw new Error(`has more than ${skillLimits.skillBytes} bytes`)
  const buffer = Buffer.alloc(stats.size)
  const { bytesRead } = await handle.read(buffer, 0, stats.size, 0)
  return buffer.subarray(0, bytesRead)
}

const decoder = new TextDecoder('utf-8', { fatal: true })

function toFile(bytes: Buffer): SkillFile {
  if (bytes.length > skillLimits.textBytes)
    return { reason: `has ${bytes.length} bytes; files of up to ${skillLimits.textBytes} can be read` }
  try {
    const text = decoder.decode(bytes)
    return text.includes('\0') ? { reason: 'is not a text' } : { text }
  } catch {
    return { reason: 'is not a text' }
  }
}
