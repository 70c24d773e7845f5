import { styleText } from 'node:util'

/** Renders Markdown incrementally. Text may be held back until the end of its span or line. */
interface MarkdownStream {
  /** Adds text, and returns the output that can be displayed now. */
  push(text: string): string
  /** Returns the remaining output. */
  end(): string
}

type Style = Parameters<typeof styleText>[0]
type LineKind = 'unknown' | 'text' | 'heading' | 'table' | 'code'

/** Bold and code spans that end on the line where they begin. */
const span = /\*\*(?=\S)(.+?)(?<=\S)\*\*|`([^`]+)`/g

/** Styles bold, code and headings. Tables and code blocks stay as written, so that columns stay aligned. */
export function createMarkdownStream(): MarkdownStream {
  let line: LineKind = 'unknown'
  let isInBlock = false
  let pending = ''

  function begin(): void {
    if (/^\s*(```|~~~)/.test(pending)) {
      isInBlock = !isInBlock
      line = 'code'
    } else if (isInBlock) line = 'code'
    else if (/^#{1,6} /.test(pending)) line = 'heading'
    else line = /^\s*\|/.test(pending) ? 'table' : 'text'
    if (line === 'heading') pending = pending.replace(/^#+ +/, '')
  }

  /** Removes and returns the part of the pending line that can be displayed: a complete line in full. */
  function take(isWhole: boolean): string {
    if (line === 'unknown') {
      if (!isWhole && /^\s*(#{0,6}|`{1,2}|~{1,2})$/.test(pending)) return ''
      begin()
    }
    const length = isWhole || line !== 'text' ? pending.length : closedLength(pending)
    const text = pending.slice(0, length)
    pending = pending.slice(length)
    return styled(text, line)
  }

  function push(text: string): string {
    let output = ''
    const lines = text.split('\n')
    lines.forEach((part, index) => {
      pending += part
      const isWhole = index < lines.length - 1
      output += take(isWhole)
      if (!isWhole) return
      output += '\n'
      line = 'unknown'
    })
    return output
  }

  return { push, end: () => take(true) }
}

/** Length of the text before the first mark whose closing mark may still arrive. */
function closedLength(text: string): number {
  const open = text.replace(span, (whole) => '_'.repeat(whole.length)).search(/\*\*|\*$|`/)
  return open < 0 ? text.length : open
}

function styled(text: string, line: LineKind): string {
  if (text === '') return ''
  if (line === 'heading') return paint('bold', text)
  if (line === 'code') return paint('cyan', text)
  if (line !== 'text') return text
  return text.replace(span, (_, bold?: string, code?: string) => (bold === undefined ? paint('cyan', code ?? '') : paint('bold', bold)))
}

/** Applies a style always; callers decide whether the output has colours. */
export function paint(style: Style, text: string): string {
  return styleText(style, text, { validateStream: false })
}

/** Removes control characters, so that text of a model or tool cannot control the terminal. */
export function withoutControls(text: string): string {
  return text.replace(/[\p{Cc}--[\n\t]]/gv, '')
}
