import { repoAccess } from './transport'

// The caller's Repos, and what is not as it should be between the Hub and GitHub.
export const reposQuery = { queryKey: ['repos'], queryFn: () => repoAccess.listRepos({}) }
