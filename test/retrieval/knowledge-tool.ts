import { contextOf } from '../../src/agent/react-fixture.ts'
import { openFilesRoot } from '../../src/files/root.ts'
import { dependenciesOf } from '../../src/tools/dependencies-fixture.ts'
import { createKnowledgeSearch } from '../../src/tools/knowledge/knowledge-search.ts'
import { corpora, type Corpus, type Passage, type Question } from './question-set.ts'
import type { Search } from './recall.ts'

/** A search with `knowledge_search`, as a model calls the tool: one tool for each corpus. */
export async function openKnowledgeTools(cacheDir: string): Promise<{ search: Search; close(): Promise<void> }> {
  const [handbook, cooperative] = await Promise.all([openTool('handbook', cacheDir), openTool('cooperative', cacheDir)])
  const tools = { handbook, cooperative }

  async function search({ text, corpus }: Question): Promise<Passage[]> {
    const { passages } = (await tools[corpus].tool.execute({ query: text }, contextOf({}))) as unknown as { passages: Passage[] }
    // The tool returns the path of headings: "Leave > Sick leave".
    return passages.map(({ file, heading }) => ({ file, heading: heading.split(' > ').at(-1) ?? '' }))
  }

  async function close(): Promise<void> {
    await handbook.close?.()
    await cooperative.close?.()
  }
  return { search, close }
}

async function openTool(corpus: Corpus, cacheDir: string) {
  const spec = { name: corpus, timeoutMs: 30_000, maxOutputCharacters: 20_000, config: { paths: ['**'] } }
  // All documents are indexed before the first question, however busy the machine is.
  return createKnowledgeSearch(spec, dependenciesOf({ files: await openFilesRoot(corpora[corpus]), cacheDir }), { maxWaitMs: 60_000 })
}
