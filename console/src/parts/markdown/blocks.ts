/** A part of a Markdown text that can be rendered by itself. */
export interface Block {
  /** Offset of the block in the text. */
  start: number
  text: string
  kind: 'markdown' | 'code' | 'plain'
}

/** Longest block, in characters, that is parsed as Markdown. A longer block is shown as plain text, which bounds the time to parse. */
const maxBlock = 16_000
/** Most characters of a block that can begin or end emphasis, links and code: the parser takes time by the square or cube of their number. */
const maxMarks = 1000
/** Length from which a list is split between its elements. */
const splitList = 4_000
/** Deepest nesting of quotes and lists that is parsed. */
const maxNesting = 24

const fence = /^ {0,3}(`{3,}|~{3,})/
const listItem = /^ {0,3}(?:[-*+]|\d{1,9}[.)])(?:\s|$)/
const nesting = /^[\s>*+-]*/
const marks = /[*_~[\]`<]/g

/**
 * Splits Markdown at blank lines outside of fenced code; the parts of a list stay together. All blocks but the last are settled: text
 * that is appended changes the last block alone. With the blocks of a beginning of `text`, only the text from the last of them is read.
 */
export function splitBlocks(text: string, before: readonly Block[] = []): Block[] {
  const settled = before.slice(0, -1)
  const blocks = [...settled]
  let start = before.at(-1)?.start ?? 0
  const end = (to: number): void => {
    const content = text.slice(start, to)
    if (content.trim() !== '') blocks.push({ start, text: content, kind: kindOf(content) })
    start = to
  }
  let state = emptyState()
  for (let at = start; at < text.length;) {
    const newline = text.indexOf('\n', at)
    const next = newline === -1 ? text.length : newline + 1
    const line = text.slice(at, newline === -1 ? text.length : newline)
    if (at > start && isBoundary(line, state, at - start)) {
      end(at)
      state = emptyState()
    }
    state = advance(state, line)
    at = next
  }
  end(text.length)
  return blocks
}

interface State {
  /** Marker of the open code fence. */
  fence: string | undefined
  isList: boolean
  isFirst: boolean
  afterBlank: boolean
  /** True if the fence at the beginning of the block is closed. */
  isClosed: boolean
}

const emptyState = (): State => ({ fence: undefined, isList: false, isFirst: true, afterBlank: false, isClosed: false })

function isBoundary(line: string, state: State, length: number): boolean {
  if (state.fence !== undefined) return false
  if (state.isClosed) return true
  const isItem = listItem.test(line)
  if (state.isList && isItem) return length > splitList
  if (!state.isList && fence.test(line)) return true
  return state.afterBlank && line.trim() !== '' && !/^\s/.test(line)
}

function advance(state: State, line: string): State {
  const marker = fence.exec(line)?.[1]
  if (state.fence !== undefined) {
    const isEnd = marker !== undefined && marker.startsWith(state.fence) && line.trim() === marker
    return isEnd ? { ...state, fence: undefined, isClosed: !state.isList, isFirst: false, afterBlank: false } : state
  }
  return {
    fence: marker,
    isList: state.isList || (state.isFirst && listItem.test(line)),
    isFirst: false,
    afterBlank: line.trim() === '',
    isClosed: false,
  }
}

function kindOf(content: string): Block['kind'] {
  if (fence.test(content)) return 'code'
  if (content.length > maxBlock || (content.match(marks)?.length ?? 0) > maxMarks) return 'plain'
  for (const line of content.split('\n')) {
    const prefix = nesting.exec(line)![0]
    if (prefix.length > maxNesting && prefix.replace(/\s/g, '').length > maxNesting) return 'plain'
  }
  return 'markdown'
}

/** Code of a fenced block: the language, and the text between the fences. */
export function readFence(content: string): { language: string; code: string } {
  const firstEnd = content.indexOf('\n')
  const first = firstEnd === -1 ? content : content.slice(0, firstEnd)
  const marker = fence.exec(first)?.[1] ?? '```'
  const body = firstEnd === -1 ? '' : content.slice(firstEnd + 1).trimEnd()
  const lastStart = body.lastIndexOf('\n') + 1
  const isClosed = fence.exec(body.slice(lastStart))?.[1]?.startsWith(marker) ?? false
  const language = first.trim().slice(marker.length).trim().split(/\s/, 1)[0] ?? ''
  return { language, code: isClosed ? body.slice(0, Math.max(0, lastStart - 1)) : body }
}
