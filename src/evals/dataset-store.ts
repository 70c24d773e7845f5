import type { Acting } from '../audit/acts.ts'
import type { Dataset, ExampleMedia, ListedDataset, StoredExample } from './dataset.ts'

export type DatasetChanges = Partial<Pick<Dataset, 'name' | 'description' | 'scorers' | 'share'>>

export type ExampleChanges = Partial<Pick<StoredExample, 'name' | 'tags' | 'content'>> & {
  /** Detaches the example from its run: the deletion of the session leaves the example. */
  source?: undefined
}

export interface Page {
  limit: number
  /** The id of the last entry of the page before. */
  before: string | undefined
}

export interface ExamplesPage extends Page {
  /** Default: the current one. */
  revision?: number
  /** Lists the examples behind an id, the oldest first. */
  after?: string
}

/** Port: datasets and examples of a tenant. Each function is one transaction, durable when the promise resolves. */
export interface DatasetStore {
  /** `name`: another dataset of the tenant has the name. `tenant`: the tenant has `max` datasets. */
  insert(dataset: Dataset, max: number): Promise<'added' | 'name' | 'tenant'>
  /** By id or by name. */
  find(tenant: string, idOrName: string): Promise<ListedDataset | undefined>
  /** Newest first. */
  list(tenant: string, page: Page): Promise<ListedDataset[]>
  /** Undefined for an unknown dataset, `name` where another dataset has the name. Changed scorers make a new revision. */
  change(tenant: string, id: string, changes: DatasetChanges, now: number): Promise<Dataset | 'name' | undefined>
  /** Removes a dataset with its examples, and with the experiments on it. False for an unknown dataset. */
  remove(tenant: string, id: string, acting?: Acting): Promise<boolean>
  /**
   * Adds an example as a new revision. Undefined for an unknown dataset, `full` where the dataset has `max` examples, `gone` where the session
   * of the example was deleted.
   */
  addExample(tenant: string, dataset: string, example: NewExample, max: number): Promise<StoredExample | 'full' | 'gone' | undefined>
  /** Stores the changed example as a new revision. Undefined for an unknown example. `change` may throw; then nothing changes. */
  changeExample(
    tenant: string,
    dataset: string,
    id: string,
    change: (example: StoredExample) => ExampleChanges,
    now: number,
    acting?: Acting,
  ): Promise<StoredExample | undefined>
  /** Leaves the example to earlier revisions. False for an unknown example. */
  removeExample(tenant: string, dataset: string, id: string, now: number): Promise<boolean>
  example(tenant: string, dataset: string, id: string, revision?: number): Promise<StoredExample | undefined>
  /** In order of their ids, the newest first. */
  examples(tenant: string, dataset: string, page: ExamplesPage): Promise<StoredExample[]>
  media(tenant: string, dataset: string, example: string): Promise<ExampleMedia[]>
}

export interface NewExample extends Omit<StoredExample, 'revision'> {
  media: readonly ExampleMedia[]
}
