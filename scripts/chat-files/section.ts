import path from 'node:path'
import type { ChatKind, Entered } from './measure.ts'
import { steps, type Step } from './steps.ts'

const additions: Partial<Record<ChatKind, string>> = {
  'tool call': 'A tool call adds',
  stream: 'A stream adds',
  'async with callback': 'An asynchronous chat with a callback adds',
}
const width = 118

/** The section "One chat, by file" of ARCHITECTURE.md. Throws for a file that belongs to no step. */
export function toSection(entered: Record<ChatKind, Entered>): string {
  const { plain } = entered
  const filesByStep = Map.groupBy(plain.files, stepOf)
  const head =
    `\`POST /core/v1/chain\` with a plain question enters these ${plain.files.length} files, measured by \`npm run chat-files\` on SQLite with a ` +
    'model of a chat completions server. Attachments, artifacts, memories, sub-agents, hints and plans add their files only where a request uses them.'
  const list = steps.map((step, index) => {
    const files = filesByStep.get(step) ?? []
    return wrap(`${index + 1}. **${step.title}.** ${step.text}${files.length > 0 ? ` ${toList(files)}` : ''}`, '   ')
  })
  const more = Object.entries(additions).map(([kind, text]) => {
    const files = entered[kind as ChatKind].files.filter((file) => !plain.files.includes(file))
    return wrap(`${text} ${files.length} files: ${toList(files)}`, '')
  })
  return [wrap(head, ''), list.join('\n'), ...more].join('\n\n') + '\n'
}

function stepOf(file: string): Step {
  const matching = steps.flatMap((step) => step.globs.filter((glob) => path.matchesGlob(file, glob)).map((glob) => ({ step, glob })))
  const [longest] = matching.sort((a, b) => b.glob.length - a.glob.length)
  if (!longest) throw new Error(`\`src/${file}\` belongs to no step of a chat: add it to scripts/chat-files/steps.ts.`)
  return longest.step
}

/** The files by folder, such as `runs/log/{event-log,outcome}.ts`. */
function toList(files: readonly string[]): string {
  const byFolder = Map.groupBy(files, (file) => path.dirname(file))
  const groups = [...byFolder].map(([folder, paths]) => {
    const names = paths.map((file) => path.basename(file, '.ts'))
    const place = folder === '.' ? '' : `${folder}/`
    return `\`${place}${names.length > 1 ? `{${names.join(',')}}` : names[0]}.ts\``
  })
  return groups.join(' ')
}

function wrap(text: string, indent: string): string {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line)
      line = indent + word
    } else line = line === '' ? word : `${line} ${word}`
  }
  return [...lines, line].join('\n')
}
