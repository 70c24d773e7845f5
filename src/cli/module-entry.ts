import path from 'node:path'
import { editYaml } from '../configuration/change/edit-yaml.ts'
import { toAgentConfig } from '../configuration/parse.ts'
import { readYaml } from '../configuration/yaml-source.ts'
import { fieldsOf } from '../json/shape.ts'

/** An entry of agent.yaml for a file of the operator. */
export interface ModuleEntry {
  name: string
  type: 'module'
  config: { path: string }
}

/** The entry of agent.yaml for a file, whose path is relative to the folder of agent.yaml. */
export function toModuleEntry(name: string, relative: string): ModuleEntry {
  const slashed = relative.split(path.sep).join('/')
  return { name, type: 'module', config: { path: slashed.startsWith('..') ? slashed : `./${slashed}` } }
}

/** The entry as a line of agent.yaml. */
export function formatEntry({ name, config }: ModuleEntry): string {
  const file = /^[\w./@-]+$/.test(config.path) ? config.path : JSON.stringify(config.path)
  return `- { name: ${name}, type: module, config: { path: ${file} } }`
}

/** The text of agent.yaml with one more tool. Throws a `ConfigError` if the result is not valid. */
export function withEntry(text: string, entry: ModuleEntry): string {
  const before = fieldsOf(readYaml(text).value)
  const tools = Array.isArray(before['tools']) ? (before['tools'] as unknown[]) : []
  const after = { ...before, tools: [...tools, entry] }
  toAgentConfig(after)
  return editYaml(text, before, after)
}

/** The tools of a text of agent.yaml. Throws a `ConfigError` for a text that is no YAML. */
export function listEntries(text: string): Record<string, unknown>[] {
  const { tools } = fieldsOf(readYaml(text).value)
  return Array.isArray(tools) ? tools.map(fieldsOf) : []
}
