import { hash } from 'node:crypto'
import { mkdir, readdir, readFile, stat } from 'node:fs/promises'
import path from 'node:path'
import type { JsonSchema } from '../../agent/messages.ts'
import { writeWhole } from '../../files/write-whole.ts'
import type { ServerTool } from './server-tool.ts'

/** What somebody has accepted of a tool, or has yet to. */
export interface Definition {
  hash: string
  description: string
  schema: JsonSchema
  /** When it was first seen. ISO 8601. */
  at: string
}

interface Pin {
  accepted: Definition
  /** What the server says of it since. */
  changed?: Definition
}

interface PinFile {
  entry: string
  tools: Record<string, Pin>
}

/** The definitions that the tools of one server are held to, on disk: a restart does not make a changed tool a new one. */
export interface Pins {
  /** Accepts what is new; answers with the accepted definitions of tools that have another one now. */
  review(tools: readonly ServerTool[]): Promise<Map<string, Definition>>
  /** Whether somebody wrote to the file since it was last looked at. */
  isTouched(): Promise<boolean>
}

/** `server` says which one it is: the address, or the command. Another one at the same entry is held to nothing of the one before. */
export function openPins(cacheDir: string, entry: string, server: unknown): Pins {
  const folder = pinFolder(cacheDir)
  const file = path.join(folder, `${encodeURIComponent(entry)}-${hash('sha256', JSON.stringify(server)).slice(0, 12)}.json`)
  let seenAt: number | undefined
  const writtenAt = async () => (await stat(file).catch(() => undefined))?.mtimeMs

  async function review(tools: readonly ServerTool[]): Promise<Map<string, Definition>> {
    const before = (await readPins(file)) ?? { entry, tools: {} }
    const pins = new Map(Object.entries(before.tools))
    const changed = new Map<string, Definition>()
    for (const tool of tools) {
      const pin = pins.get(tool.name)
      const isAccepted = pin === undefined || pin.accepted.hash === tool.hash
      if (!isAccepted) changed.set(tool.name, pin.accepted)
      const now = { hash: tool.hash, description: tool.description, schema: tool.schema, at: new Date().toISOString() }
      const kept = pin ?? { accepted: now }
      if (isAccepted) pins.set(tool.name, { accepted: kept.accepted })
      else if (kept.changed?.hash !== tool.hash) pins.set(tool.name, { accepted: kept.accepted, changed: now })
    }
    const after = { entry, tools: Object.fromEntries(pins) }
    if (JSON.stringify(after) !== JSON.stringify(before)) await writePins(file, after)
    seenAt = await writtenAt()
    return changed
  }

  return { review, isTouched: async () => (await writtenAt()) !== seenAt }
}

/** A tool that is not used because its definition has changed. */
export interface ChangedTool extends Pin {
  /** `<entry>__<tool>`. */
  name: string
  changed: Definition
}

export async function listChangedTools(cacheDir: string): Promise<ChangedTool[]> {
  const files = await readAll(cacheDir)
  return files.flatMap(({ pins }) => changedIn(pins))
}

/** Accepts what the server says now of one tool, or of all of an entry; answers with the names, none where nothing had changed. */
export async function acceptChangedTools(cacheDir: string, name: string): Promise<string[]> {
  const accepted: string[] = []
  for (const { file, pins } of await readAll(cacheDir)) {
    const chosen = changedIn(pins).filter((tool) => tool.name === name || pins.entry === name)
    if (chosen.length === 0) continue
    for (const { name, changed } of chosen) pins.tools[name.slice(pins.entry.length + 2)] = { accepted: changed }
    await writePins(file, pins)
    accepted.push(...chosen.map((tool) => tool.name))
  }
  return accepted
}

function changedIn({ entry, tools }: PinFile): ChangedTool[] {
  return Object.entries(tools).flatMap(([tool, { accepted, changed }]) =>
    changed ? [{ name: `${entry}__${tool}`, accepted, changed }] : [],
  )
}

function pinFolder(cacheDir: string): string {
  return path.join(cacheDir, 'mcp-pins')
}

async function readAll(cacheDir: string): Promise<{ file: string; pins: PinFile }[]> {
  const folder = pinFolder(cacheDir)
  const names = await readdir(folder).catch(() => [])
  const files = names.filter((name) => name.endsWith('.json')).map((name) => path.join(folder, name))
  const read = await Promise.all(files.map(async (file) => ({ file, pins: await readPins(file) })))
  return read.flatMap(({ file, pins }) => (pins ? [{ file, pins }] : []))
}

/** Undefined where there is no file. One that can't be read is no reason to take everything for accepted: it rejects. */
async function readPins(file: string): Promise<PinFile | undefined> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as PinFile
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw new Error(`What was accepted of the tools can't be read: ${file}`, { cause: error })
  }
}

async function writePins(file: string, pins: PinFile): Promise<void> {
  await mkdir(path.dirname(file), { recursive: true, mode: 0o700 })
  await writeWhole(file, JSON.stringify(pins), { flush: true })
}
