import { isDeepStrictEqual } from 'node:util'
import { redactData, hideUrlSecrets, secretMask } from '../redact.ts'
import type { ConfigurationSource } from './change.ts'
import { editYaml } from './edit-yaml.ts'
import { isSecretNode, leavesOf, rootNode } from './entries.ts'
import type { ConfigData } from './merge.ts'
import { Lexer } from 'yaml'

type TextWithData = Pick<ConfigurationSource, 'text' | 'data'>

/** The text of a configuration with masked secrets. Comments, order and style are kept; secrets in comments are masked as well. */
export function maskText({ text, data }: TextWithData): string {
  return mapComments(editYaml(text, data, redactData(data) as ConfigData), createMasker(secretsIn(data)))
}

interface Unmasking {
  /** The content of the text, and the content with the secrets in place of their masks. */
  before: ConfigData
  after: ConfigData
  /** The text that was masked for the caller. */
  original: TextWithData
}

/**
 * A text from a caller, with the secrets in place of the masks, and the comments of `original` in place of the masked comments. Each
 * comment is used once, in order. A comment stays masked where the comment's secret would be shown from now on: outside of the
 * comment's block, or without the configuration's value that the comment repeats.
 */
export function unmaskText(text: string, { before, after, original }: Unmasking): string {
  const unmasked = isDeepStrictEqual(before, after) ? text : editYaml(text, before, after)
  const comments = new Map<string, string[]>()
  const mask = createMasker(secretsIn(original.data))
  mapComments(original.text, (comment) => {
    const masked = mask(comment)
    if (masked !== comment) comments.set(masked, [...(comments.get(masked) ?? []), comment])
    return comment
  })
  if (comments.size === 0) return unmasked
  const maskAfter = createMasker(secretsIn(after))
  return mapComments(unmasked, (comment) => {
    const former = comments.get(comment)?.shift() ?? comment
    return maskAfter(former) === comment ? former : comment
  })
}

/** An edited text without comments that repeat secrets removed by the edit: nothing else would mark the words as secret. */
export function maskRemoved(text: string, before: ConfigData, after: ConfigData): string {
  const current = secretsIn(after)
  const former = secretsIn(before).filter((secret) => !current.includes(secret))
  if (!former.some((secret) => text.includes(secret))) return text
  return mapComments(text, (comment) => former.reduce((masked, secret) => masked.replaceAll(secret, secretMask), comment))
}

/** A shorter value is also part of other words. */
const minSecretCharacters = 6

/** The secrets of the configuration, which comments may repeat. */
function secretsIn(data: ConfigData): string[] {
  return [...leavesOf(rootNode(data))].flatMap((leaf) => {
    const isLong = typeof leaf.value === 'string' && leaf.value.length >= minSecretCharacters && !leaf.value.includes('${')
    return isLong && isSecretNode(leaf) ? [leaf.value] : []
  })
}

const secretName = /(?:key|secret|token|password|passwd|credentials?|authorization|cookie)s?["']?\s*[:=]\s*/i
/** A value that needs no mask: a reference to a variable, or the start of a block. */
const harmless = /^(?:["']?(?:(?:Bearer|Basic|Token) )?\$\{\w+\}["']?|[|>][+-]?)?\s*$/i
const secretBlock = /^#\s*(?:- )?["']?(?:headers|env)["']?\s*:\s*(.*)$/
const field = /^(#\s*(?:- )?[^\s:#][^:]*:\s+)(\S.*)$/

/**
 * Masks secrets in comments, where no schema tells what is secret: known secrets, values of fields that are named like a secret, all values
 * under `headers` and `env`, and users and queries of URLs. A commented-out block of `headers` covers the deeper comments
 * that follow.
 */
function createMasker(secrets: readonly string[]): (comment: string) => string {
  /** The column of the open block; undefined outside of a block. */
  let blockColumn: number | undefined
  return (comment) => {
    const column = comment.slice(1).search(/\S/)
    if (blockColumn !== undefined && column <= blockColumn) blockColumn = undefined
    const isInBlock = blockColumn !== undefined
    const [, blockValue] = secretBlock.exec(comment) ?? []
    if (blockValue === '') blockColumn = column
    if (blockValue) return comment.slice(0, comment.length - blockValue.length) + secretMask
    const known = secrets.reduce((text, secret) => text.replaceAll(secret, secretMask), comment)
    if (isInBlock) return known.replace(field, (_, name: string, value: string) => name + maskValue(value))
    const at = secretName.exec(known)
    if (!at) return hideUrlSecrets(known)
    const start = at.index + at[0].length
    return hideUrlSecrets(known.slice(0, start)) + maskValue(known.slice(start))
  }
}

function maskValue(value: string): string {
  return harmless.test(value) ? value : secretMask
}

/** The lexer announces a scalar, whose text may begin with "#" as well. */
const scalarMark = '\u001f'
/** Further marks of the lexer, which are not part of the text. */
const marks: ReadonlySet<string> = new Set([scalarMark, '\u0002', '\u0018'])

function mapComments(text: string, change: (comment: string) => string): string {
  let result = ''
  let before = ''
  for (const lexeme of new Lexer().lex(text)) {
    if (!marks.has(lexeme)) result += before !== scalarMark && lexeme.startsWith('#') ? change(lexeme) : lexeme
    before = lexeme
  }
  return result
}
