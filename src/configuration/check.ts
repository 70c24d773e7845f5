import { Ajv, type ValidateFunction } from 'ajv'
import { checkCustomRoles } from '../access/permissions.ts'
import { ownToolNames } from '../agent/tool-names.ts'
import { describeFault } from './describe-fault.ts'
import { createPatternCheck } from './pattern-rules.ts'
import { findProvider } from './providers.ts'
import { problemAt, type ConfigProblem, type Path } from './problems.ts'
import { agentSchema, closeRecords, findToolSchema, isSchema, type Schema } from './schema-walk.ts'
import { maxTools, type AgentConfig } from './schema.ts'
import { findToolType, toolTypes } from './tool-types.ts'
import { findDanger } from './yaml-source.ts'

const subAgentPrefix = 'sub_agent:'

export interface CheckedConfig {
  /** A copy with all defaults; an `AgentConfig` when there are no problems. */
  config: AgentConfig
  problems: ConfigProblem[]
}

/** Checks plain data against the schema and against the rules that a schema can't say. */
export function checkConfig(value: unknown): CheckedConfig {
  const dangerous = findDanger(value)
  // Nothing more is looked up in data that would answer with an object's own prototype.
  if (dangerous.length > 0) return { config: value as AgentConfig, problems: dangerous }
  const copy: unknown = structuredClone(value)
  const problems = checkSchema(agentSchema, copy)
  return { config: copy as AgentConfig, problems: [...problems, ...checkTools(copy), ...checkModels(copy), ...checkRoles(copy)] }
}

/** Fills the defaults into `value` itself. */
function checkSchema(schema: Schema, value: unknown, prefix: Path = []): ConfigProblem[] {
  const { closed, validate } = compile(schema)
  if (validate(value)) return []
  return (validate.errors ?? []).map((error) => {
    const { at, message } = describeFault(error, closed, value)
    return problemAt([...prefix, ...at], message)
  })
}

interface Compiled {
  closed: Schema
  validate: ValidateFunction
}

/** To compile a schema takes much longer than to check with it. */
const compiled = new WeakMap<Schema, Compiled>()

function compile(schema: Schema): Compiled {
  const known = compiled.get(schema)
  if (known) return known
  const { $schema: _, ...closed } = closeRecords(schema) as Schema
  const ajv = new Ajv({ allErrors: true, useDefaults: true, strict: true, strictRequired: false, allowUnionTypes: true, verbose: true })
  const made = { closed, validate: ajv.compile(closed) }
  compiled.set(schema, made)
  return made
}

/** Looks at each tool that can be looked at, so that its faults are told together with those of the schema. */
function checkTools(config: unknown): ConfigProblem[] {
  const firstOf = new Map<string, number>()
  // That there are too many is a fault of the schema.
  const tools = listIn(config, 'tools').slice(0, maxTools)
  const groups = groupsOf(tools)
  const checkPatterns = createPatternCheck()
  return tools.flatMap((tool, index) => {
    if (!isSchema(tool) || typeof tool['name'] !== 'string') return []
    const at = ['tools', index]
    const name = tool['name']
    const first = firstOf.get(name)
    if (first === undefined) firstOf.set(name, index)
    return [
      ...(first === undefined
        ? []
        : [problemAt([...at, 'name'], `"${name}" is the name of tools[${first}] already; each tool needs its own`)]),
      ...checkPrefix(name, groups, at),
      ...(isReserved(name) ? [problemAt([...at, 'name'], `"${name}" is a name that the agent uses itself; choose another`)] : []),
      ...checkToolConfig(tool, at, checkPatterns),
    ]
  })
}

function checkToolConfig(tool: Record<string, unknown>, at: Path, checkPatterns: ReturnType<typeof createPatternCheck>): ConfigProblem[] {
  const type = tool['type'] ?? tool['name']
  if (typeof type !== 'string') return []
  const schema = findToolSchema(type)
  if (!schema) {
    const known = `is not known; known are ${Object.keys(toolTypes).join(', ')}`
    if (tool['type'] !== undefined) return [problemAt([...at, 'type'], `"${type}" ${known}`)]
    return [problemAt([...at, 'type'], `is missing, and the name "${type}" as a type ${known}`)]
  }
  const config = tool['config'] ?? {}
  if (!isSchema(config)) return []
  const problems = checkSchema(schema, config, [...at, 'config'])
  problems.push(...checkPatterns(config, [...at, 'config']))
  problems.push(...(findToolType(type)?.check?.(config, [...at, 'config']) ?? []))
  if (tool['config'] === undefined && Object.keys(config).length > 0) tool['config'] = config
  return problems
}

/** The index of each, by its name; of two with the same name that of the first. */
function groupsOf(tools: readonly unknown[]): Map<string, number> {
  const groups = tools.flatMap((tool, index): [string, number][] => (isGroup(tool) ? [[String(tool['name']), index]] : []))
  return new Map(groups.toReversed())
}

/** Names that belong to another entry would make it unclear whose a tool is. */
function checkPrefix(name: string, groups: ReadonlyMap<string, number>, at: Path): ConfigProblem[] {
  const heads = [...name.matchAll(/(?=__)/g)].map(({ index }) => name.slice(0, index))
  const index = heads.map((head) => groups.get(head)).find((found) => found !== undefined)
  if (index === undefined) return []
  return [problemAt([...at, 'name'], `"${name}" begins like the names of the tools of tools[${index}]; choose another`)]
}

function isGroup(tool: unknown): tool is Schema {
  return isSchema(tool) && findToolType(tool['type'] ?? tool['name'])?.isGroup === true
}

export function isReserved(name: string): boolean {
  return ownToolNames.has(name) || name.startsWith(subAgentPrefix)
}

function checkModels(config: unknown): ConfigProblem[] {
  const llms = isSchema(config) ? config['llms'] : undefined
  if (!isSchema(llms)) return []
  const models = Object.entries(llms).flatMap(([key, value]): [Path, unknown][] =>
    Array.isArray(value) ? value.map((item, index) => [['llms', key, index], item]) : [[['llms', key], value]],
  )
  return [
    ...models.flatMap(([at, model]) => (isSchema(model) ? checkAddress(model, at) : [])),
    ...models.flatMap(([at, model]) =>
      isSchema(model) && model['provider'] === 'embedded' && model['images'] === true
        ? [problemAt([...at, 'images'], 'can not be true: the embedded model can not see')]
        : [],
    ),
    ...checkEmbedding(llms['embedding']),
  ]
}

function checkAddress({ provider, base_url }: Schema, at: Path): ConfigProblem[] {
  const traits = findProvider(provider)
  const isMissing = traits?.wire === 'chat-completions' && traits.isAnyServer && base_url === undefined
  return isMissing ? [problemAt([...at, 'base_url'], `is required by the provider ${String(provider)} and missing`)] : []
}

function checkEmbedding(model: unknown): ConfigProblem[] {
  const provider = isSchema(model) ? model['provider'] : undefined
  const traits = findProvider(provider)
  if (!traits || traits.embeds) return []
  return [
    problemAt(
      ['llms', 'embedding', 'provider'],
      `"${String(provider)}" has no models for embeddings; choose another, or leave llms.embedding out`,
    ),
  ]
}

function checkRoles(config: unknown): ConfigProblem[] {
  const access = isSchema(config) ? config['access'] : undefined
  const roles = isSchema(access) && isSchema(access['roles']) ? access['roles'] : {}
  const lists = Object.entries(roles).flatMap(([role, granted]) =>
    Array.isArray(granted) && granted.every((each) => typeof each === 'string') ? [[role, granted] as const] : [],
  )
  return checkCustomRoles(Object.fromEntries(lists)).map(({ at, message }) => problemAt(['access', 'roles', ...at], message))
}

function listIn(config: unknown, key: string): unknown[] {
  const value = isSchema(config) ? config[key] : undefined
  return Array.isArray(value) ? value : []
}
