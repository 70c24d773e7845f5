import { readFile } from 'node:fs/promises'
import path from 'node:path'
import type { JsonObject } from '../../agent/messages.ts'
import { serverKey, type Definition, type Pin, type PinStore } from '../../configuration/mcp/pin-store.ts'
import type { ServerTool } from './server-tool.ts'

interface PinsOptions {
  store: PinStore
  /** Former versions of the service stored the pins in this folder. */
  cacheDir: string
  /** Name of the entry of `tools`. */
  entry: string
  /** Address or command; a different server under the same entry starts with empty pins. */
  server: Parameters<typeof serverKey>[0]
}

/** Accepted tool definitions of one server, stored so that a tool changed across a restart is still detected. */
export function openPins({ store, cacheDir, entry, server: address }: PinsOptions) {
  const server = serverKey(address)
  const file = path.join(cacheDir, 'mcp-pins', `${encodeURIComponent(entry)}-${server}.json`)
  let readRevision = 0

  async function read(): Promise<{ tools: Record<string, Pin>; revision: number }> {
    const stored = await store.find(entry, server)
    return stored ?? { tools: await readFormerFile(file), revision: 0 }
  }

  /** Compares a listing of the server. Accepts new tools, and returns the accepted definitions of the changed tools, by tool name. */
  async function review(tools: readonly ServerTool[]): Promise<Map<string, Definition>> {
    for (;;) {
      const { tools: before, revision } = await read()
      const after = toPins(tools, before)
      const isSame = revision > 0 && JSON.stringify(after) === JSON.stringify(before)
      if (!isSame && !(await store.save({ entry, server, tools: after }, revision))) continue
      readRevision = isSame ? revision : revision + 1
      return findChanged(tools, before)
    }
  }

  /** Compares a former listing again, without storing anything. */
  async function recheck(tools: readonly ServerTool[]): Promise<Map<string, Definition>> {
    const { tools: pins, revision } = await read()
    readRevision = revision
    return findChanged(tools, pins)
  }

  return { review, recheck, isModified: async () => (await store.revision(entry, server)) !== readRevision }
}

export type Pins = ReturnType<typeof openPins>

function toPins(tools: readonly ServerTool[], before: Readonly<Record<string, Pin>>): Record<string, Pin> {
  const pins = new Map(Object.entries(before))
  for (const tool of tools) {
    const now = toDefinition(tool)
    const pin = pins.get(tool.name) ?? { accepted: now }
    if (pin.accepted.hash === tool.hash) pins.set(tool.name, { accepted: pin.accepted })
    else if (pin.changed?.hash !== tool.hash) pins.set(tool.name, { accepted: pin.accepted, changed: now })
  }
  return Object.fromEntries(pins)
}

function findChanged(tools: readonly ServerTool[], pins: Readonly<Record<string, Pin>>): Map<string, Definition> {
  return new Map(
    tools.flatMap(({ name, hash }) => {
      const accepted = Object.hasOwn(pins, name) ? pins[name]?.accepted : undefined
      return accepted && accepted.hash !== hash ? [[name, accepted] as const] : []
    }),
  )
}

function toDefinition({ hash, description, schema, listed }: ServerTool): Definition {
  const annotations = (listed.annotations ?? {}) as JsonObject
  return { hash, description, schema, annotations, at: new Date().toISOString() }
}

/** Empty when the file does not exist. Rejects when the file is unreadable: an unreadable file must not count as acceptance of every tool. */
async function readFormerFile(file: string): Promise<Record<string, Pin>> {
  try {
    const { tools } = JSON.parse(await readFile(file, 'utf8')) as { tools: Record<string, Pin> }
    return tools
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return {}
    throw new Error(`The accepted tool definitions cannot be read from ${file}`, { cause: error })
  }
}
