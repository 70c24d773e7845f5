import { Ajv, type ErrorObject } from 'ajv'
import type { Logger } from 'pino'
import type { RequestInit, Response } from 'undici'
import type { JsonSchema } from '../agent/messages.ts'
import type { Tool, ToolListing } from '../agent/tool.ts'
import type { Environment } from '../configuration/references.ts'
import type { FilesRoot } from '../files/root.ts'

/** What every builder may use. */
export interface ToolDependencies {
  files: FilesRoot
  /** Where a tool may keep what it can rebuild. */
  cacheDir: string
  /** The folder of agent.yaml: what an entry names as a path is relative to it. */
  configDir: string
  /** For `${NAME}` in secrets and addresses, resolved where they are used. */
  environment: Environment
  outbound: Outbound
  log: Logger
  /** Aborted when nobody waits any more for what is being made. */
  signal?: AbortSignal
}

/** Port: how tools reach other hosts. */
export interface Outbound {
  /**
   * For addresses that callers or models name: public ones, and those of OUTBOUND_ALLOW. Each connection is checked on the address that it
   * goes to, redirects included; one that is refused rejects.
   */
  fetch(url: string, init?: OutboundInit): Promise<Response>
  /** For addresses that an administrator has configured, wherever they are; where they redirect to is held to the rules of `fetch`. */
  fetchConfigured(url: string, init?: OutboundInit): Promise<Response>
}

export interface OutboundInit extends RequestInit {
  /**
   * Asked about each address before it is gone to, those of redirects included: what it answers with are headers for this address
   * alone, in place of others of the same name; a throw ends the whole. `hasLeft`: another origin was on the way.
   */
  headersFor?(url: URL, hasLeft: boolean): Readonly<Record<string, string>>
}

/** An entry of `tools` in the configuration, defaults filled in. */
export interface ToolSpec {
  name: string
  /** Replaces the tool's own. */
  description?: string
  timeoutMs: number
  maxOutputCharacters: number
  /** In place of the tool's own effect. */
  effect?: Tool['effect']
  config: Record<string, unknown>
}

/** Where a configuration says nothing. */
export const toolDefaults = { timeoutMs: 30_000, maxOutputCharacters: 20_000 } as const

/** A tool and what to do when its configuration is gone. */
export interface ToolBuild {
  tool: Tool
  close?(): Promise<void>
}

/** What one entry became whose tools change: several, whose names begin with `<name of the entry>__`, or one of its own name. */
export interface ToolGroup {
  /** As they are now: a server may change them. */
  tools(): readonly Tool[]
  /** Those that are there and can't be used, each for a reason of its own. */
  refused?(): readonly RefusedTool[]
  /** Why they can't be used at the moment, in words for an operator; undefined while they can. It heals by itself. */
  unavailableReason?(): string | undefined
  close?(): Promise<void>
}

export type RefusedTool = Required<Pick<ToolListing, 'name' | 'description' | 'schema' | 'reason'>>

/** Makes the tools of an entry; a throw is why they can't be used, in words for an operator. It is tried again later. */
export type ToolBuilder = (spec: ToolSpec, deps: ToolDependencies) => ToolBuild | ToolGroup | Promise<ToolBuild | ToolGroup>

/** What is a tool's own; the rest follows from its spec and its schema. */
export type ToolTraits = Omit<Tool, 'name' | 'timeoutMs' | 'maxOutputCharacters' | 'check'>

export function createTool(spec: ToolSpec, traits: ToolTraits): Tool {
  return {
    ...traits,
    name: spec.name,
    description: spec.description ?? traits.description,
    timeoutMs: spec.timeoutMs,
    maxOutputCharacters: spec.maxOutputCharacters,
    effect: spec.effect ?? traits.effect,
    check: createCheck(traits.schema),
  }
}

/** A `Tool.check` for a schema: one sentence that names the parameter (`limit must be integer`), or undefined. */
export function createCheck(schema: JsonSchema): (input: unknown) => string | undefined {
  // A parameter may be called `constructor`: what every object has is none that was sent.
  const validate = new Ajv({ strict: false, logger: false, ownProperties: true }).compile(schema)
  return (input) => (validate(input) ? undefined : describeSchemaError(validate.errors?.[0]))
}

/** What does not fit, naming the parameter. */
export function describeSchemaError(error: ErrorObject | undefined): string {
  if (!error) return 'the input does not fit'
  const path = error.instancePath
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
  const under = (name: unknown) => [...path, String(name)].join('.')
  if (error.keyword === 'required') return `${under(error.params['missingProperty'])} is required`
  if (error.keyword === 'additionalProperties') return `${under(error.params['additionalProperty'])} is not a parameter`
  if (error.keyword === 'enum') return `${path.join('.') || 'the input'} must be one of ${error.params['allowedValues'].join(', ')}`
  return `${path.join('.') || 'the input'} ${error.message ?? 'does not fit'}`
}
