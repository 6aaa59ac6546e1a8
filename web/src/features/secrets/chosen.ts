import type { Repo } from '@/gen/kndl/repo_access/v1/repo_access_service_pb'
import type { Variable } from '@/gen/kndl/secrets/v1/variable_pb'

// The Repo of that name, the first without one. None in place of one that is not there: what is set
// would go to another Repo.
export function chosenRepo<R extends Pick<Repo, 'name'>>(repos: readonly R[], name: string | undefined): R | undefined {
  return name === undefined ? repos[0] : repos.find((repo) => repo.name === name)
}

type Shared = Pick<Variable, 'name' | 'sharedId' | 'moreRepos'>

// Which Shared variable a name means: that whose Change was pressed, if it is still there, or the only
// one of that name which may be changed; '' makes one.
export function meantShared(shared: readonly Shared[], name: string, begun: Pick<Shared, 'name' | 'sharedId'>): string {
  const same = shared.filter((variable) => variable.name === name)
  if (name === begun.name && same.some(({ sharedId }) => sharedId === begun.sharedId)) return begun.sharedId
  const own = same.filter(({ moreRepos }) => !moreRepos)
  return own.length === 1 ? own[0]!.sharedId : ''
}
