import type { ToolOffer } from '../src/agent/model.ts'
import { cut } from './answers/passages.ts'
import { readWords, setOf } from './language/words.ts'

/** Talk about nothing but the model itself. */

const talk = {
  greeting:
    'hi|hello|hey|hallo|hello there|hi there|hello agent|good morning|good afternoon|good evening|good day|greetings|howdy|guten tag|guten morgen|bonjour|hola|hello everyone|hey there|hello how are you|hi how are you',
  wellbeing: 'how are you|how are you doing|how are you today|how is it going|how do you do|whats up|what is up',
  thanks:
    'thanks|thank you|thx|many thanks|cheers|great|perfect|cool|thank you very much|thanks a lot|thank you so much|great thanks|perfect thank you|ok thanks|okay thanks|ok|okay|good|nice|awesome',
  bye: 'bye|goodbye|bye bye|see you|good night|good bye',
  capabilities:
    'help|help me|can you help me|who are you|what are you|what is your name|your name|whats your name|what can you do|what can you do for me|what do you do|how can you help|how can you help me|what can i ask|what can i ask you|which tools do you have|what tools do you have|what are your tools|what are your capabilities|what model are you|which model are you|are you a robot|are you a bot|are you an ai|are you human|are you chatgpt|what are you able to do|what else can you do',
} as const

type Talk = keyof typeof talk

const kinds = new Map(
  (Object.entries(talk) as [Talk, string][]).flatMap(([kind, texts]) => texts.split('|').map((text): [string, Talk] => [text, kind])),
)

const thanks = setOf('thanks thank you thx cheers great perfect cool nice awesome good ok okay many so much very')

/** Length limit of small talk. */
const maxTalk = 80

/** Recognises greetings, thanks and questions about the model. */
export function smallTalk(text: string): Talk | undefined {
  if (text.length > maxTalk) return undefined
  const words = readWords(text.replaceAll("'s", ' is')).map(({ lower }) => lower)
  const polite = words.filter((word) => word !== 'please')
  const isThanks = words.length > 0 && words.every((word) => thanks.has(word))
  if (isThanks || (['thanks', 'thank', 'thx'].includes(words[0] ?? '') && words.length <= 6)) return 'thanks'
  return kinds.get(words.join(' ')) ?? kinds.get(polite.join(' '))
}

const configure =
  'For open conversation, put a language model in its place: set `llms.primary` in agent.yaml, for instance ' +
  '`{provider: openai, model: ..., api_key: "${OPENAI_API_KEY}"}`, or `{provider: openai-compatible, base_url: "http://localhost:11434/v1", model: ...}` for one of your own.'

/** How the model introduces itself. */
function introductionOf(name: string): string {
  return `I am ${name}, an assistant that works by rules: the demonstration model that is built into this service, not a language model. I choose a tool for a request, fill in its input and report what it gives.`
}

export function talkAnswer(kind: Talk, name: string, tools: readonly ToolOffer[]): string {
  if (kind === 'thanks') return 'You are welcome.'
  if (kind === 'bye') return 'Goodbye.'
  if (kind === 'wellbeing') return 'I am a program, and I am running. What would you like to know?'
  if (kind === 'capabilities') return [introductionOf(name), toolLines(tools), configure].join('\n\n')
  const names = tools.map((tool) => `\`${tool.name}\``)
  return names.length > 0 ? `Hello! What would you like to know? I can use ${listOf(names)}.` : 'Hello! What would you like to know?'
}

/** The limits of the model, and, the first time in a session, its abilities. */
export function inabilityText(name: string, question: string, tools: readonly ToolOffer[], isFirst: boolean): string {
  const topic = cut(question.trim().replace(/\s+/g, ' '), 80)
  const start = topic === '' ? 'There is no question that I could answer.' : `I cannot help with “${topic}”: none of my tools fits it.`
  return isFirst ? [`${start} ${introductionOf(name)}`, toolLines(tools), configure].join('\n\n') : start
}

/** True for an answer with the introduction. */
export function introduces(answer: string): boolean {
  return answer.includes('the demonstration model that is built into this service')
}

function toolLines(tools: readonly ToolOffer[]): string {
  if (tools.length === 0) return 'I have no tools at the moment.'
  const lines = tools.map(({ name, description }) => `- \`${name}\`: ${firstSentence(description)}`)
  return `What I can use:\n\n${lines.join('\n')}`
}

function firstSentence(description: string): string {
  const line = description.trim().split('\n')[0] ?? ''
  return cut(/^.*?[.!?](?=\s|$)/.exec(line)?.[0] ?? line, 160)
}

function listOf(names: string[]): string {
  return names.length === 1 ? names[0]! : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`
}
