import type { JsonObject, JsonSchema } from '../../agent/messages.ts'
import type { ActingIn } from '../../audit/acts.ts'
import { hash } from 'node:crypto'

/** A definition of a tool that has been accepted, or waits to be accepted. */
export interface Definition {
  /** Hash of everything that the server states about the tool: 16 hex digits. */
  hash: string
  description: string
  schema: JsonSchema
  /** Undefined for definitions that were stored before annotations were. */
  annotations?: JsonObject
  /** Time of the first listing with the definition, ISO 8601. */
  at: string
}

export interface Pin {
  accepted: Definition
  /** A different definition listed by the server since then. */
  changed?: Definition
}

/** The pinned tools of one MCP server. */
export interface ServerPins {
  /** Name of the entry of `tools`. */
  entry: string
  /** Identifies the address or command of the server: another server under the same entry has pins of its own. */
  server: string
  tools: Record<string, Pin>
}

export interface StoredPins extends ServerPins {
  /** Increases with each change, from 1. */
  revision: number
}

/** Accepted definitions, for the ledger. */
export interface AcceptedPins {
  acting: ActingIn | undefined
  /** The hashes of the definition before, and of the accepted one. */
  tools: { name: string; before: string; after: string }[]
}

/** Port: the accepted tool definitions, which all processes of the service share. The adapter lives in store/. */
export interface PinStore {
  /** The pins of all servers, ordered by entry. */
  list(): Promise<StoredPins[]>
  find(entry: string, server: string): Promise<StoredPins | undefined>
  /** The revision of the pins of a server; 0 without pins. */
  revision(entry: string, server: string): Promise<number>
  /** Stores the pins as the revision after `after`. Returns false, and stores nothing, when another process was first. */
  save(pins: ServerPins, after: number, accepted?: AcceptedPins): Promise<boolean>
}

/** Pins that live as long as the process: for a trial of tools that must not affect the service. */
export function createPinMemory(): PinStore {
  const pins = new Map<string, StoredPins>()
  const keyOf = (entry: string, server: string) => `${entry} ${server}`
  return {
    list: async () => [...pins.values()].toSorted((a, b) => (a.entry < b.entry ? -1 : 1)),
    find: async (entry, server) => pins.get(keyOf(entry, server)),
    revision: async (entry, server) => pins.get(keyOf(entry, server))?.revision ?? 0,
    async save(next, after) {
      const key = keyOf(next.entry, next.server)
      if ((pins.get(key)?.revision ?? 0) !== after) return false
      pins.set(key, { ...structuredClone(next), revision: after + 1 })
      return true
    },
  }
}

/** The key of the pins of an MCP server: 12 hex digits of its address or command. References `${NAME}` count as they stand. */
export function serverKey({ url, command, args }: { url?: unknown; command?: unknown; args?: unknown }): string {
  return hash('sha256', JSON.stringify([url, command, args])).slice(0, 12)
}
