import { styleText } from 'node:util'

/** Shows Markdown as it arrives. What is written may wait for the end of its span or line. */
export interface MarkdownStream {
  /** What can be shown now. */
  push(text: string): string
  /** The rest. */
  end(): string
}

type Style = Parameters<typeof styleText>[0]
type Line = 'unknown' | 'text' | 'heading' | 'table' | 'code'

/** Bold and code, each closed in the line that it began in. */
const span = /\*\*(?=\S)(.+?)(?<=\S)\*\*|`([^`]+)`/g

/** Bold, code and headings in style; tables and blocks of code as they are, for their columns to stay in place. */
export function createMarkdownStream(): MarkdownStream {
  let line: Line = 'unknown'
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

  /** Takes what can be shown of the line so far; of a whole line all. */
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
    let shown = ''
    const lines = text.split('\n')
    lines.forEach((part, index) => {
      pending += part
      const isWhole = index < lines.length - 1
      shown += take(isWhole)
      if (!isWhole) return
      shown += '\n'
      line = 'unknown'
    })
    return shown
  }

  return { push, end: () => take(true) }
}

/** Up to the first mark that may still get its counterpart. */
function closedLength(text: string): number {
  const open = text.replace(span, (whole) => '_'.repeat(whole.length)).search(/\*\*|\*$|`/)
  return open < 0 ? text.length : open
}

function styled(text: string, line: Line): string {
  if (text === '') return ''
  if (line === 'heading') return paint('bold', text)
  if (line === 'code') return paint('cyan', text)
  if (line !== 'text') return text
  return text.replace(span, (_, bold?: string, code?: string) => (bold === undefined ? paint('cyan', code ?? '') : paint('bold', bold)))
}

/** Whether to paint at all is decided by who asks for a style. */
export function paint(style: Style, text: string): string {
  return styleText(style, text, { validateStream: false })
}

/** Without control characters: what a model or a tool writes must not steer the terminal. */
export function withoutControls(text: string): string {
  return text.replace(/[\p{Cc}--[\n\t]]/gv, '')
}
