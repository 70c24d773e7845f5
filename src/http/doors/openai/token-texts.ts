import { invalid, type Fault } from '../../../errors.ts'

/**
 * Texts of `cl100k_base`, the encoding of OpenAI's embedding models. LangChain's Python client sends texts as its tokens, also to other models,
 * which read text alone.
 */

/** The bytes of each token, in base64. Loaded with the first request that has tokens. */
let loading: Promise<readonly string[]> | undefined

async function load(): Promise<readonly string[]> {
  const { default: encoding } = await import('js-tiktoken/ranks/cl100k_base')
  const tokens: string[] = []
  // A line has a mark, the number of its first token, and the tokens.
  for (const line of encoding.bpe_ranks.split('\n')) {
    const [, first, ...texts] = line.split(' ')
    for (const [index, text] of texts.entries()) tokens[Number(first) + index] = text
  }
  for (const [text, token] of Object.entries(encoding.special_tokens)) tokens[token] = Buffer.from(text).toString('base64')
  return tokens
}

type Input = string | string[] | number[] | number[][]

/** The texts of `input`: texts, or tokens of one or several texts. Throws a validation error for a token that the encoding does not have. */
export async function toTexts(input: Input, at: Fault['loc']): Promise<string[]> {
  if (typeof input === 'string') return [input]
  if (input.every((text) => typeof text === 'string')) return input
  const table = await (loading ??= load())
  const isOneText = input.every((token) => typeof token === 'number')
  return isOneText ? [decode(table, input, at)] : input.map((tokens, index) => decode(table, tokens, [...at, index]))
}

function decode(table: readonly string[], tokens: readonly number[], at: Fault['loc']): string {
  const bytes = tokens.map((token, index) => {
    const text = table[token]
    if (text !== undefined) return Buffer.from(text, 'base64')
    throw invalid([...at, index], 'is no token of cl100k_base: send texts, in LangChain with check_embedding_ctx_length=False')
  })
  return Buffer.concat(bytes).toString()
}
