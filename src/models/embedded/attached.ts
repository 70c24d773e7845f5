import type { Message } from '../../agent/messages.ts'
import type { ToolOffer } from '../../agent/model.ts'
import { fromContextText } from '../../files/context-text.ts'
import { splitKnown } from '../../memory/render.ts'
import type { Choice } from './choose-tool.ts'
import { toSections, type Section } from './question.ts'

/** Files attached to the question. */
export interface AttachedFiles {
  sections: Section[]
  /** Names of files present only as an outline, whose content must be read with a tool. */
  outlined: string[]
}

/** Separates the files before the question from the conversation. */
export function separateAttachedFiles(all: readonly Message[]): { messages: Message[]; attached: AttachedFiles } {
  const attached: AttachedFiles = { sections: [], outlined: [] }
  const messages = all.map((message): Message => {
    if (message.role !== 'user') return message
    // Memories of the person come before the files.
    const { text } = splitKnown(message.text)
    const contextText = fromContextText(text)
    if (!contextText) return message
    for (const file of contextText.files) {
      if (file.isWhole) attached.sections.push(...sectionsOf(file.name, file.text))
      else attached.outlined.push(file.name)
    }
    return { ...message, text: message.text.slice(0, message.text.length - text.length) + contextText.question }
  })
  return { messages, attached }
}

function sectionsOf(file: string, text: string): Section[] {
  if (/\.[ct]sv$/i.test(file)) return tableSections(file, text)
  return toSections(text.replace(/^---\n[^]*?\n---\n/, '')).map((section) => ({ ...section, file }))
}

/** Converts a table to a section that describes the table and a section of rows, which are searched by their words. */
function tableSections(file: string, text: string): Section[] {
  const [columns = '', ...rows] = text.split(/\r?\n/).filter((line) => line.trim() !== '')
  const description = `A table of ${rows.length} rows with the columns ${columns.split(/[,;\t]/).join(', ')}.`
  return [
    { file, heading: file, text: description },
    { file, heading: columns, text: rows.join('\n\n'), isRows: true },
  ]
}

/** The call that reads the first file present only as an outline. */
export function toReadCall({ outlined }: AttachedFiles, tools: readonly ToolOffer[]): Choice | undefined {
  const [path] = outlined
  // The tool for attached files comes last in the list. The configured file tool may have no access to the file.
  const tool = tools.findLast(({ schema }) => {
    const properties = Object.keys(schema['properties'] ?? {})
    return properties.includes('path') && properties.includes('offset')
  })
  return tool && path !== undefined ? { tool, input: { path }, evidence: [path], score: 5 } : undefined
}
