import { Route, Switch } from 'wouter'
import { FailedState } from '../parts/states.tsx'
import { DatasetPage } from './dataset/page.tsx'
import { ListsPage } from './lists.tsx'

/** Datasets, experiments, and the results of one example: all screens below `/evals`. */
export function EvalsPage() {
  return (
    <Switch>
      <Route path="/evals" component={ListsPage} />
      <Route path="/evals/datasets/:id" component={DatasetPage} />
      <Route>
        <FailedState title="There is no such page" text="The address may be mistyped, or from another version of the console." />
      </Route>
    </Switch>
  )
}
