import type { DatasetStore } from '../dataset-store.ts'
import type { StoredExample } from '../dataset.ts'
import type { Example } from '../example.ts'
import { createReadMedia } from '../media.ts'
import type { ReadMedia } from '../replay/store.ts'
import type { ExperimentDataset } from './spec.ts'

/** An example of an experiment, with the place where its bytes are. */
export interface ExperimentExample {
  example: Example
  /** Index of the dataset. */
  dataset: number
  datasetId: string
  /** Key of the session that takes the results with it when deleted. */
  session: string | undefined
  readMedia: ReadMedia
}

/** Examples that are read at once: an example has up to 4 MiB. */
const atOnce = 4

/** Reads the examples of the frozen revisions, one dataset after the other, the oldest first. */
export async function* readExamples(
  store: Pick<DatasetStore, 'examples' | 'media'>,
  tenant: string,
  datasets: readonly ExperimentDataset[],
): AsyncGenerator<ExperimentExample> {
  for (const [dataset, { id: datasetId, revision }] of datasets.entries()) {
    for (let after = ''; ;) {
      const page = await store.examples(tenant, datasetId, { limit: atOnce, before: undefined, after, revision })
      for (const stored of page) {
        const readMedia = createReadMedia(store, { tenant, dataset: datasetId, example: stored.id })
        yield { example: fromStored(stored), dataset, datasetId, session: stored.session, readMedia }
      }
      if (page.length < atOnce) break
      after = page.at(-1)!.id
    }
  }
}

export function fromStored({ id, name, tags, source, content }: StoredExample): Example {
  return {
    ...(content as unknown as Omit<Example, 'id' | 'name' | 'tags' | 'source'>),
    id,
    name,
    tags: [...tags],
    source: source ? { request_id: source.requestId, config_version: source.configVersion ?? '' } : null,
  }
}
