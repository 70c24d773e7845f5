import { Route, Switch } from 'wouter'
import { FailedState } from '../parts/states.tsx'
import { ComparePage } from './compare/page.tsx'
import { DatasetPage } from './dataset/page.tsx'
import { ExperimentPage } from './experiment/page.tsx'
import { ListsPage } from './lists.tsx'
import { NewExperimentPage } from './new-experiment/page.tsx'

/** Datasets, experiments, and the results of one example: all screens below `/evals`. */
export function EvalsPage() {
  return (
    <Switch>
      <Route path="/evals" component={ListsPage} />
      <Route path="/evals/new" component={NewExperimentPage} />
      <Route path="/evals/datasets/:id" component={DatasetPage} />
      <Route path="/evals/experiments/:id" component={ExperimentPage} />
      <Route path="/evals/experiments/:id/:example" component={ComparePage} />
      <Route>
        <FailedState title="There is no such page" text="The address may be mistyped, or from another version of the console." />
      </Route>
    </Switch>
  )
}
