/** Loads the pages of a list one after another, and yields their elements. */
export async function* readPages<Page, Element>(
  load: (before: string | undefined) => Promise<Page>,
  { elements, next }: { elements: (page: Page) => readonly Element[]; next: (page: Page) => string | undefined },
): AsyncGenerator<Element, void> {
  let before: string | undefined
  do {
    const page = await load(before)
    yield* elements(page)
    before = next(page)
  } while (before !== undefined)
}

/** `before` of the next page, for lists that say whether there is one. */
export function nextPage({ offset, has_more: hasMore }: { offset: string | null; has_more: boolean }): string | undefined {
  return hasMore && offset !== null && offset !== '' ? offset : undefined
}
