import { checkCustomRoles } from '../access/permissions.ts'
import { checkBudgets } from './budget-schema.ts'
import { ownToolNames } from '../agent/tool-names.ts'
import { compileSchema } from './compile-schema.ts'
import { checkModels } from './models/rules.ts'
import { createPatternCheck } from './glob-braces.ts'
import { checkProviderApprovals } from './provider-tool-schema.ts'
import { problemAt, type ConfigProblem, type Path } from './problems.ts'
import { checkSkills } from './skills/skills-schema.ts'
import { agentSchema, findToolSchema, toClosed, type Schema, holdsSecrets, isSecret, schemasUnder } from './schema-walk.ts'
import { maxTools, type AgentConfig } from './schema.ts'
import { findToolType, toolTypes } from './tool-types.ts'
import { findDanger } from './yaml-source.ts'
import { faultOfSchema } from '../json/schema/answer-schema.ts'
import { isObject } from '../json/shape.ts'
import type { ErrorObject } from 'ajv'
import { hideUrlSecrets } from './redact.ts'

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
      ...checkSkills(copy),
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

const shownLength = 60
const notEmpty = 'must not be empty'

/**
 * The path of a fault found by Ajv, and a message with the rule and the value. Several errors are the alternatives of a union, none of which
 * the value fits. `schema` is the validated schema.
 */
export function describeFault([error, ...others]: readonly ErrorObject[], schema: Schema, root: unknown): { at: Path; message: string } {
  if (!error) throw new TypeError('A fault has at least one error.')
  const at = toPath(error.instancePath, root)
  const params: Record<string, unknown> = error.params
  if (error.keyword === 'required') return { at: [...at, String(params['missingProperty'])], message: 'is required but missing' }
  if (error.keyword === 'additionalProperties') return toUnknownKey(error, at)
  if (error.keyword === 'type' && error.data === null)
    return { at, message: `must be ${withArticle(String(params['type']))}, but is empty` }
  const rule = [error, ...others].map(toRule).join(' or ').replaceAll(' or must be ', ' or ')
  if (rule === notEmpty) return { at, message: rule }
  return { at, message: isSecretAt(schema, at) ? `${rule}; the value is secret and not shown` : `${rule}, but ${describeValue(error)}` }
}

function toUnknownKey(error: ErrorObject, at: Path): { at: Path; message: string } {
  const parent = (error.parentSchema ?? {}) as Schema
  const keys = (keyword: string) => Object.keys((parent[keyword] as object | undefined) ?? {})
  const fields = keys('properties')
  const patterns = keys('patternProperties')
  const key = String((error.params as Record<string, unknown>)['additionalProperty'])
  const path = [...at, key]
  if (fields.length > 0) return { at: path, message: `is not a known field; known fields are ${fields.join(', ')}` }
  if (patterns.length > 0) return { at: path, message: `is not a valid name; the name must match ${patterns.join(' or ')}` }
  return { at: path, message: 'is not a known field; no fields are allowed here' }
}

/** Rules of a keyword with a limit, which stands for `#`. */
const limits: Readonly<Record<string, string>> = {
  minLength: 'have at least # characters',
  minItems: 'have at least # entries',
  minProperties: 'have at least # entries',
  maxLength: 'have at most # characters',
  maxItems: 'have at most # entries',
  maxProperties: 'have at most # entries',
  minimum: 'be # or more',
  maximum: 'be # or less',
  exclusiveMinimum: 'be more than #',
  exclusiveMaximum: 'be less than #',
}

function toRule(error: ErrorObject): string {
  const { keyword } = error
  const params: Record<string, unknown> = error.params
  const limit = String(params['limit'])
  const rule = limits[keyword]
  if (rule?.startsWith('have at least') && limit === '1') return notEmpty
  if (rule !== undefined) return `must ${rule.replace('#', limit)}`
  if (keyword === 'type') return `must be ${withArticle(String(params['type']))}`
  if (keyword === 'enum') return `must be one of ${(params['allowedValues'] as unknown[]).join(', ')}`
  if (keyword === 'const') return `must be ${JSON.stringify(params['allowedValue'])}`
  if (keyword === 'pattern') return `must match ${String(params['pattern'])}${hint(error)}`
  return error.message ?? 'must fit the schema'
}

/** The description of the field, which explains the pattern. */
function hint(error: ErrorObject): string {
  const description = error.parentSchema?.['description']
  return typeof description === 'string' ? ` (${description.replace(/\.$/, '')})` : ''
}

function withArticle(type: string): string {
  const names: Record<string, string> = {
    object: 'a mapping',
    array: 'a list',
    integer: 'a whole number',
    string: 'a text',
    boolean: 'true or false',
  }
  return names[type] ?? `a ${type}`
}

function describeValue({ keyword, data }: ErrorObject): string {
  if (/^(?:min|max)(?:Items|Properties)$/.test(keyword)) return `has ${Object.keys(data as object).length}`
  return `is ${show(data)}`
}

function show(value: unknown): string {
  if (value === null || value === undefined) return 'nothing'
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : 'a list'
  if (typeof value === 'object') return Object.keys(value).length === 0 ? 'an empty mapping' : 'a mapping'
  const text = typeof value === 'string' ? JSON.stringify(hideUrlSecrets(value)) : String(value)
  return text.length > shownLength ? `${text.slice(0, shownLength)}...` : text
}

/** A value in place of a mapping of secrets may be a secret too. */
function isSecretAt(schema: Schema, at: Path): boolean {
  let schemas = [schema]
  for (const part of at) {
    if (isSecret(schemas)) return true
    schemas = schemasUnder(schemas, part)
  }
  return isSecret(schemas) || holdsSecrets(schemas)
}

/** Splits a JSON pointer into keys and list indexes. `root` tells lists from mappings. */
function toPath(pointer: string, root: unknown): Path {
  let value = root
  return pointer
    .split('/')
    .slice(1)
    .map((escaped) => {
      const key = escaped.replaceAll('~1', '/').replaceAll('~0', '~')
      const part = Array.isArray(value) ? Number(key) : key
      value = (value as Record<string, unknown> | undefined)?.[key]
      return part
    })
}

/** Keywords whose error means that the value was not meant for an alternative of a union. */
const kinds = new Set(['type', 'const', 'enum'])

/**
 * Ajv reports the faults of every alternative of a union, and the union itself. Kept are the faults of the alternatives that have the kind of
 * the value; where none has, the first error of each alternative, which the caller describes together.
 */
export function selectFaults(errors: readonly ErrorObject[]): ErrorObject[][] {
  const unions = errors.filter(({ keyword }) => keyword === 'anyOf')
  const isInside = (error: ErrorObject, union: ErrorObject) =>
    error.schemaPath.startsWith(`${union.schemaPath}/`) && `${error.instancePath}/`.startsWith(`${union.instancePath}/`)
  const plain = errors.filter((error) => !unions.some((union) => error === union || isInside(error, union)))
  return [
    ...plain.map((error) => [error]),
    ...unions.flatMap((union) =>
      ofUnion(
        union,
        errors.filter((error) => isInside(error, union)),
      ),
    ),
  ]
}

function ofUnion(union: ErrorObject, errors: readonly ErrorObject[]): ErrorObject[][] {
  const start = union.schemaPath.length + 1
  const alternatives = [...Map.groupBy(errors, ({ schemaPath }) => schemaPath.slice(start).split('/', 1)[0])].map(([, faults]) => faults)
  const isOther = (faults: readonly ErrorObject[]) =>
    faults.some(({ keyword, instancePath }) => instancePath === union.instancePath && kinds.has(keyword))
  const meant = alternatives.filter((faults) => !isOther(faults))
  return meant.length > 0 ? meant.flat().map((fault) => [fault]) : [alternatives.map(([first]) => first!)]
}
