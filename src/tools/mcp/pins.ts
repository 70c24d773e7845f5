import { hash } from 'node:crypto'
import { mkdir, readdir, readFile, stat } from 'node:fs/promises'
import path from 'node:path'
import type { JsonSchema } from '../../agent/messages.ts'
import { writeWhole } from '../../files/write-whole.ts'
import type { ServerTool } from './server-tool.ts'

/** A definition of a tool that has been accepted, or waits to be accepted. */
export interface Definition {
  hash: string
  description: string
  schema: JsonSchema
  /** Time of the first listing with the definition, ISO 8601. */
  at: string
}

interface Pin {
  accepted: Definition
  /** A different definition listed by the server since then. */
  changed?: Definition
}

interface PinFile {
  entry: string
  tools: Record<string, Pin>
}

/** Accepted tool definitions of one server, stored on disk so that a tool changed across a restart is still detected. */
export interface Pins {
  /** Accepts new tools, and returns the accepted definitions of the tools that have changed, by tool name. */
  review(tools: readonly ServerTool[]): Promise<Map<string, Definition>>
  /** True when the file was written since the last `review`. */
  isModified(): Promise<boolean>
}

/** `server` identifies the server by its address or command. A different server under the same entry starts with empty pins. */
export function openPins(cacheDir: string, entry: string, server: unknown): Pins {
  const folder = pinFolder(cacheDir)
  const file = path.join(folder, `${encodeURIComponent(entry)}-${hash('sha256', JSON.stringify(server)).slice(0, 12)}.json`)
  let readAt: number | undefined
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
      const currentPin = pin ?? { accepted: now }
      if (isAccepted) pins.set(tool.name, { accepted: currentPin.accepted })
      else if (currentPin.changed?.hash !== tool.hash) pins.set(tool.name, { accepted: currentPin.accepted, changed: now })
    }
    const after = { entry, tools: Object.fromEntries(pins) }
    if (JSON.stringify(after) !== JSON.stringify(before)) await writePins(file, after)
    readAt = await writtenAt()
    return changed
  }

  return { review, isModified: async () => (await writtenAt()) !== readAt }
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

/** Accepts the changed definition of one tool, or of all tools of an entry. Returns the names of the accepted tools, empty when none had changed. */
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

/** Undefined when the file does not exist. Rejects when the file is unreadable: an unreadable file must not count as acceptance of every tool. */
async function readPins(file: string): Promise<PinFile | undefined> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as PinFile
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw new Error(`The accepted tool definitions cannot be read from ${file}`, { cause: error })
  }
}

async function writePins(file: string, pins: PinFile): Promise<void> {
  await mkdir(path.dirname(file), { recursive: true, mode: 0o700 })
  await writeWhole(file, JSON.stringify(pins), { flush: true })
}
