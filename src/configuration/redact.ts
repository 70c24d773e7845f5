import { agentSchema, findToolSchema, isSecret, schemasUnder, type Schema } from './schema-walk.ts'
import type { AgentConfig } from './schema.ts'
import { isObject } from '../json/shape.ts'

export const secretMask = '********'

const references = '(?:\\$\\{[A-Za-z_][A-Za-z0-9_]*\\})+'
/** Texts of references only, shown unmasked. */
const harmless = {
  text: new RegExp(`^(?:(?:Bearer|Basic|Token) )?${references}$`, 'i'),
  user: new RegExp(`^${references}(?::${references})?$`),
  parameter: new RegExp(`^[\\w.-]+=${references}$`),
}

/** A copy with masked secrets (`********`). References `${NAME}` stay; users and queries of URLs are masked. */
export function redactConfig(config: AgentConfig): AgentConfig {
  return redactData(config) as AgentConfig
}

/** As `redactConfig`, for data that need not fit the schema. */
export function redactData(data: object): object {
  const copy = redact(data, [agentSchema]) as { tools?: unknown }
  if (Array.isArray(copy.tools)) copy.tools = (data as { tools: unknown[] }).tools.map(redactTool)
  return copy
}

const toolsSchema = schemasUnder([agentSchema], 'tools')

function redactTool(tool: unknown, index: number): unknown {
  const copy = redact(tool, schemasUnder(toolsSchema, index))
  if (!isObject(tool) || !isObject(copy) || tool['config'] === undefined) return copy
  const schema = findToolSchema(String(tool['type'] ?? tool['name']))
  // Every value may be a secret when the tool type is unknown.
  return { ...copy, config: schema ? redact(tool['config'], [schema]) : hideAll(tool['config']) }
}

/** Masks user and password of URLs anywhere in the text. The query of a URL is masked unless the text is prose, where a URL is a link. */
export function hideUrlSecrets(text: string): string {
  const isProse = /\s/.test(text)
  return text.replace(/\/\/[^\s"'<>]+/g, (url) => (isProse ? hideUser(url) : hideQuery(hideUser(url))))
}

function redact(value: unknown, schemas: readonly Schema[]): unknown {
  if (isSecret(schemas)) return hideAll(value)
  if (typeof value === 'string') return hideUrlSecrets(value)
  if (Array.isArray(value)) return value.map((item, index) => redact(item, schemasUnder(schemas, index)))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, child]) => [key, redact(child, schemasUnder(schemas, key))]))
}

function hideAll(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(hideAll)
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([key, child]) => [key, hideAll(child)]))
  }
  return value === null || value === undefined || harmless.text.test(String(value)) ? value : secretMask
}

/** `url` starts with two slashes. */
function hideUser(url: string): string {
  // A password with an unescaped `/` or `?` makes the URL invalid; then the password may extend to the last `@`.
  const isUrl = URL.canParse(`http:${url.replace(new RegExp(references, 'g'), '1')}`)
  return url.replace(isUrl ? /^\/\/([^/?#]*)@/ : /^\/\/(.*)@/, (_, user: string) => `//${harmless.user.test(user) ? user : secretMask}@`)
}

function hideQuery(url: string): string {
  return url.replace(/\?([^#]+)/, (_, query: string) => {
    return `?${query.split('&').every((parameter) => harmless.parameter.test(parameter)) ? query : secretMask}`
  })
}
