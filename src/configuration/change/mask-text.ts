import { isDeepStrictEqual } from 'node:util'
import { redactData } from '../redact.ts'
import type { ConfigurationSource } from '../source.ts'
import { maskComments, maskFormer, unmaskComments } from './comments.ts'
import { editYaml } from './edit-yaml.ts'
import { isSecretNode, leavesOf, rootNode } from './leaves.ts'
import type { ConfigData } from './merge.ts'

type TextWithData = Pick<ConfigurationSource, 'text' | 'data'>

/** The text of a configuration with masked secrets. Comments, order and style are kept; secrets in comments are masked as well. */
export function maskText({ text, data }: TextWithData): string {
  return maskComments(editYaml(text, data, redactData(data) as ConfigData), secretsIn(data))
}

interface Unmasking {
  /** The content of the text, and the content with the secrets in place of their masks. */
  before: ConfigData
  after: ConfigData
  /** The text that was masked for the caller. */
  original: TextWithData
}

/** A text that a caller sent back, with the secrets in place of their masks. */
export function unmaskText(text: string, { before, after, original }: Unmasking): string {
  const unmasked = isDeepStrictEqual(before, after) ? text : editYaml(text, before, after)
  return unmaskComments(unmasked, { original: original.text, before: secretsIn(original.data), after: secretsIn(after) })
}

/** An edited text whose comments do not repeat secrets that the edit has removed. */
export function maskRemoved(text: string, before: ConfigData, after: ConfigData): string {
  return maskFormer(text, { before: secretsIn(before), after: secretsIn(after) })
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
