import { checkCustomRoles } from '../access/permissions.ts'
import { checkBudgets } from './budget-schema.ts'
import { ownToolNames } from '../agent/tool-names.ts'
import { compileSchema } from './compile-schema.ts'
import { describeFault, selectFaults } from './describe-fault.ts'
import { checkModels } from './models/rules.ts'
import { createPatternCheck } from './glob-braces.ts'
import { checkProviderApprovals } from './provider-tool-schema.ts'
import { problemAt, type ConfigProblem, type Path } from './problems.ts'
import { agentSchema, findToolSchema, toClosed, type Schema } from './schema-walk.ts'
import { maxTools, type AgentConfig } from './schema.ts'
import { findToolType, toolTypes } from './tool-types.ts'
import { findDanger } from './yaml-source.ts'
import { faultOfSchema } from '../json/schema/answer-schema.ts'
import { isObject } from '../json/shape.ts'

const subAgentPrefix = 'sub_agent:'

export interface CheckedConfig {
  /** A copy with all defaults. Fits `AgentConfig` only when there are no problems. */
  config: AgentConfig
  problems: ConfigProblem[]
}

/** Checks plain data against the schema and against the rules that a schema cannot express. */
export function checkConfig(value: unknown): CheckedConfig {
  const dangerous = findDanger(value)
  // Further checks look up keys, which is not safe in data with keys such as `__proto__`.
  if (dangerous.length > 0) return { config: value as AgentConfig, problems: dangerous }
  const copy: unknown = structuredClone(value)
  const problems = checkSchema('agent_yaml', agentSchema, copy)
  return {
    config: copy as AgentConfig,
    problems: [
      ...problems,
      ...checkTools(copy),
      ...checkProviderApprovals(copy),
      ...checkModels(copy),
      ...checkBudgets(copy),
      ...checkRoles(copy),
      ...checkResponseSchema(copy),
    ],
  }
}

/** Fills the defaults into `value` itself. */
function checkSchema(name: string, schema: Schema, value: unknown, prefix: Path = []): ConfigProblem[] {
  const validate = compileSchema(name, schema)
  if (validate(value)) return []
  const closed = toClosed(schema)
  return selectFaults(validate.errors ?? []).map((alternatives) => {
    const { at, message } = describeFault(alternatives, closed, value)
    return problemAt([...prefix, ...at], message)
  })
}

/** Checks the tools even when the schema found faults, so that all faults are reported together. */
function checkTools(config: unknown): ConfigProblem[] {
  const firstOf = new Map<string, number>()
  // More than `maxTools` is already a fault of the schema.
  const tools = listIn(config, 'tools').slice(0, maxTools)
  const groups = groupsOf(tools)
  const checkPatterns = createPatternCheck()
  return tools.flatMap((tool, index) => {
    if (!isObject(tool) || typeof tool['name'] !== 'string') return []
    const at = ['tools', index]
    const name = tool['name']
    const first = firstOf.get(name)
    if (first === undefined) firstOf.set(name, index)
    return [
      ...(first === undefined ? [] : [problemAt([...at, 'name'], `"${name}" is already the name of tools[${first}]; choose another name`)]),
      ...checkPrefix(name, groups, at),
      ...(isReserved(name) ? [problemAt([...at, 'name'], `"${name}" is reserved for a built-in tool; choose another name`)] : []),
      ...checkToolConfig(tool, at, checkPatterns),
    ]
  })
}

function checkToolConfig(tool: Record<string, unknown>, at: Path, checkPatterns: ReturnType<typeof createPatternCheck>): ConfigProblem[] {
  const type = tool['type'] ?? tool['name']
  if (typeof type !== 'string') return []
  const schema = findToolSchema(type)
  if (!schema) {
    const problem = `is not a known tool type; known types are ${Object.keys(toolTypes).join(', ')}`
    if (tool['type'] !== undefined) return [problemAt([...at, 'type'], `"${type}" ${problem}`)]
    return [problemAt([...at, 'type'], `is required, because the name "${type}" ${problem}`)]
  }
  const config = tool['config'] ?? {}
  if (!isObject(config)) return []
  const problems = checkSchema(type, schema, config, [...at, 'config'])
  problems.push(...checkPatterns(config, [...at, 'config']))
  problems.push(...(findToolType(type)?.check?.(config, [...at, 'config']) ?? []))
  if (tool['config'] === undefined && Object.keys(config).length > 0) tool['config'] = config
  return problems
}

/** The index of each group by name; the first index if two groups have the same name. */
function groupsOf(tools: readonly unknown[]): Map<string, number> {
  const groups = tools.flatMap((tool, index): [string, number][] => (isGroup(tool) ? [[String(tool['name']), index]] : []))
  return new Map(groups.toReversed())
}

/** A name with the prefix of a group could collide with the names of the group's tools. */
function checkPrefix(name: string, groups: ReadonlyMap<string, number>, at: Path): ConfigProblem[] {
  const heads = [...name.matchAll(/(?=__)/g)].map(({ index }) => name.slice(0, index))
  const index = heads.map((head) => groups.get(head)).find((groupIndex) => groupIndex !== undefined)
  if (index === undefined) return []
  return [problemAt([...at, 'name'], `"${name}" starts with the prefix of the tools of tools[${index}]; choose another name`)]
}

function isGroup(tool: unknown): tool is Schema {
  return isObject(tool) && findToolType(tool['type'] ?? tool['name'])?.isGroup === true
}

export function isReserved(name: string): boolean {
  return ownToolNames.has(name) || name.startsWith(subAgentPrefix)
}

function checkRoles(config: unknown): ConfigProblem[] {
  const access = isObject(config) ? config['access'] : undefined
  const roles = isObject(access) && isObject(access['roles']) ? access['roles'] : {}
  const lists = Object.entries(roles).flatMap(([role, granted]) =>
    Array.isArray(granted) && granted.every((permission) => typeof permission === 'string') ? [[role, granted] as const] : [],
  )
  return checkCustomRoles(Object.fromEntries(lists)).map(({ at, message }) => problemAt(['access', 'roles', ...at], message))
}

function checkResponseSchema(config: unknown): ConfigProblem[] {
  const schema = isObject(config) ? config['response_schema'] : undefined
  const fault = isObject(schema) ? faultOfSchema(schema) : undefined
  return fault ? [problemAt(['response_schema', ...fault.path], fault.msg)] : []
}

function listIn(config: unknown, key: string): unknown[] {
  const value = isObject(config) ? config[key] : undefined
  return Array.isArray(value) ? value : []
}
