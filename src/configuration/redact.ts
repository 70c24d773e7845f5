import { childNode, isSecretNode, rootNode, type SchemaNode } from './change/entries.ts'
import type { Path } from './problems.ts'
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

/** As `redactConfig`, for data that need not fit the schema: every value may be a secret where the type of a tool is unknown. */
export function redactData(data: object): object {
  return redact(rootNode(data), hideUrlSecrets) as object
}

/**
 * A copy for comparisons. Secrets are masked as in `redactConfig`; every other text stays as written, except for passwords in addresses of
 * models and tools: texts that a model reads must differ where their copies do.
 */
export function maskForComparison(config: AgentConfig): object {
  return redact(rootNode(config), (text, at) => (isAddressField(at) && isAddress(text) ? hidePasswords(text) : text)) as object
}

function isAddressField(at: Path): boolean {
  return at[0] === 'llms' || (at[0] === 'tools' && at[2] === 'config')
}

function isAddress(text: string): boolean {
  return /^[a-z][a-z\d+.-]*:\/\/\S+$/i.test(text)
}

const parameter = /([?&])([^=?&#]*)=[^&#]*/g
const secretName = /key|token|secret|passw|pwd|sig|auth|credential/i

function hidePasswords(address: string): string {
  const start = address.indexOf('//')
  return address.slice(0, start) + hideUser(address.slice(start)).replace(parameter, hideParameter)
}

function hideParameter(text: string, mark: string, name: string): string {
  return secretName.test(name) ? `${mark}${name}=${secretMask}` : text
}

/** Masks user and password of URLs anywhere in the text. The query of a URL is masked unless the text is prose, where a URL is a link. */
export function hideUrlSecrets(text: string): string {
  const isProse = /\s/.test(text)
  return text.replace(/\/\/[^\s"'<>]+/g, (url) => (isProse ? hideUser(url) : hideQuery(hideUser(url))))
}

function redact(node: SchemaNode, hide: (text: string, at: Path) => string): unknown {
  const { value } = node
  if (Array.isArray(value)) return value.map((_, index) => redact(childNode(node, index), hide))
  if (isObject(value)) return Object.fromEntries(Object.keys(value).map((key) => [key, redact(childNode(node, key), hide)]))
  if (!isSecretNode(node)) return typeof value === 'string' ? hide(value, node.at) : value
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
