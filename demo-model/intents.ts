import { readArithmetic } from './intents/arithmetic.ts'
import { readNames, readSave } from './intents/commands.ts'
import { readChange, readConsentTo } from './intents/changes.ts'
import { readDocuments } from './intents/documents.ts'
import { readFiles } from './intents/files.ts'
import { readMemories, readStatement, readTexts } from './intents/given.ts'
import { readOtherTool } from './intents/other-tool.ts'
import { readTables } from './intents/tables.ts'
import { readClock } from './intents/clock.ts'
import type { Intent } from './part.ts'

/** All kinds of questions. Each is read by its own file; the reading with the highest score is tried first. */
export const intents: readonly Intent[] = [
  { name: 'consent', examples: ['yes', 'no'], read: readConsentTo },
  { name: 'named tool', examples: ['Use save_note with text "Buy milk"'], read: readNames },
  { name: 'change', examples: ['Cancel order O-1002', 'Please do not cancel order O-1002', 'Delete all sales'], read: readChange },
  { name: 'save', examples: ['Write "hello" to hello.txt', 'Make a CSV file with the sales by region'], read: readSave },
  { name: 'memories', examples: ['What do you know about me?'], read: readMemories },
  { name: 'texts', examples: ['Summarise the file'], read: readTexts },
  { name: 'statement', examples: ['My name is Ada.', 'What is my name?'], read: readStatement },
  {
    name: 'arithmetic',
    examples: ['What is 17% of 2,340?', 'three hundred and twelve times four', 'Convert 5 km to miles'],
    read: readArithmetic,
  },
  { name: 'clock', examples: ['What time is it in Tokyo?', 'How many days until Christmas?'], read: readClock },
  { name: 'files', examples: ['List the files', 'Show me products.csv', 'Read handbook/leave.md'], read: readFiles },
  {
    name: 'tables',
    examples: ['Total sales by region', 'Which month was the worst?', 'Who are our customers in Leeds?'],
    read: readTables,
  },
  { name: 'documents', examples: ['How many days of leave do I get?', 'Can I expense a taxi?'], read: readDocuments },
  { name: 'other tool', examples: ['Get order 4711', 'How is the weather in New Delhi?'], read: readOtherTool },
]
