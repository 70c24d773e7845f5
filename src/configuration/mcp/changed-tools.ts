import type { ActingIn } from '../../audit/acts.ts'
import { ServiceError } from '../../errors.ts'
import type { AgentConfig } from '../schema.ts'
import { type Definition, type PinStore, type ServerPins, serverKey } from './pin-store.ts'
import { isDeepStrictEqual } from 'node:util'
import { isObject } from '../../json/shape.ts'
import { formatPath, type Path } from '../problems.ts'

/** A tool of an MCP server that is not used because its definition has changed. */
export interface ChangedTool {
  /** `<entry>__<tool>`. */
  name: string
  entry: string
  accepted: Definition
  changed: Definition
  /** The differences, a line each. */
  changes: string[]
}

export interface AcceptedTool {
  name: string
  accepted: Definition
}

/** The changed tools of all servers, ordered by name. */
export async function listChangedTools(store: PinStore): Promise<ChangedTool[]> {
  const pins = await store.list()
  return pins.flatMap(changedIn).toSorted((a, b) => (a.name < b.name ? -1 : 1))
}

/** The changed tools of the servers that a configuration names. Servers of former configurations are left out. */
export async function listChangedToolsOf(config: UsedTools, store: PinStore): Promise<ChangedTool[]> {
  const pins = await listUsed(config, store)
  return pins.flatMap(changedIn).toSorted((a, b) => (a.name < b.name ? -1 : 1))
}

type UsedTools = Pick<AgentConfig, 'tools'>

async function listUsed({ tools }: UsedTools, store: PinStore): Promise<ServerPins[]> {
  const keys = new Set(tools.map(({ name, config = {} }) => `${name} ${serverKey(config)}`))
  const pins = await store.list()
  return pins.filter(({ entry, server }) => keys.has(`${entry} ${server}`))
}

/** Accepts the changed definition of one tool, or of all tools of an entry. Returns the accepted tools, empty when none had changed. */
export async function acceptChangedTools(store: PinStore, name: string, acting?: ActingIn): Promise<AcceptedTool[]> {
  const accepted: AcceptedTool[] = []
  for (const { entry, server } of await store.list()) {
    accepted.push(...(await acceptIn(store, { entry, server, acting }, (tool) => tool.name === name || entry === name)))
  }
  return accepted
}

/**
 * Accepts the changed definition of one tool of a configuration. Throws `not_found` when the tool has not changed, and `definition_changed`
 * when the definition that waits has another hash than `expectedHash`: the server has changed the tool once more.
 */
export async function acceptChangedTool(
  config: UsedTools,
  store: PinStore,
  { name, expectedHash, acting }: { name: string; expectedHash: string | undefined; acting?: ActingIn },
): Promise<AcceptedTool> {
  const matches = (tool: ChangedTool) => {
    if (tool.name !== name) return false
    if (expectedHash === undefined || tool.changed.hash === expectedHash) return true
    const message = `The definition of ${name} has changed again: its hash is now ${tool.changed.hash}. Nothing was accepted.`
    throw new ServiceError('definition_changed', message)
  }
  for (const pins of await listUsed(config, store)) {
    const [accepted] = await acceptIn(store, { ...pins, acting }, matches)
    if (accepted) return accepted
  }
  throw new ServiceError('not_found', `No changed definition of a tool named ${JSON.stringify(name)} waits to be accepted.`)
}

async function acceptIn(
  store: PinStore,
  { entry, server, acting }: Pick<ServerPins, 'entry' | 'server'> & { acting: ActingIn | undefined },
  matches: (tool: ChangedTool) => boolean,
): Promise<AcceptedTool[]> {
  for (;;) {
    const pins = await store.find(entry, server)
    const chosen = pins ? changedIn(pins).filter(matches) : []
    if (!pins || chosen.length === 0) return []
    const tools = { ...pins.tools }
    for (const { name, changed } of chosen) tools[name.slice(entry.length + 2)] = { accepted: changed }
    const hashes = chosen.map(({ name, accepted, changed }) => ({ name, before: accepted.hash, after: changed.hash }))
    if (await store.save({ entry, server, tools }, pins.revision, { acting, tools: hashes }))
      return chosen.map(({ name, changed }) => ({ name, accepted: changed }))
  }
}

function changedIn({ entry, tools }: ServerPins): ChangedTool[] {
  return Object.entries(tools).flatMap(([tool, { accepted, changed }]) =>
    changed ? [{ name: `${entry}__${tool}`, entry, accepted, changed, changes: describeChanges(accepted, changed) }] : [],
  )
}

/** A value longer than this is not quoted whole. */
const shownLength = 120

/**
 * The differences of two definitions of a tool, a line each: `description changed`, `schema.properties.days added: {"type":"integer"}`,
 * `annotations.readOnlyHint changed: true -> false`.
 */
export function describeChanges(before: Definition, after: Definition): string[] {
  const lines = [
    ...(before.description === after.description ? [] : ['description changed']),
    ...differences(before.schema, after.schema, ['schema']),
    ...(before.annotations && after.annotations ? differences(before.annotations, after.annotations, ['annotations']) : []),
  ]
  return lines.length > 0 ? lines : ['a part changed that the agent does not use']
}

function differences(before: unknown, after: unknown, at: Path): string[] {
  if (isDeepStrictEqual(before, after)) return []
  const label = formatPath(at)
  if (before === undefined) return [`${label} added: ${show(after)}`]
  if (after === undefined) return [`${label} removed: ${show(before)}`]
  if (!isObject(before) || !isObject(after)) return [`${label} changed: ${show(before)} -> ${show(after)}`]
  const keys = new Set([...Object.keys(before), ...Object.keys(after)])
  return [...keys].flatMap((key) => differences(before[key], after[key], [...at, key]))
}

function show(value: unknown): string {
  const text = JSON.stringify(value)
  return text.length > shownLength ? `${text.slice(0, shownLength)}...` : text
}
