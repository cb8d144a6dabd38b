/** The profile of the account, which the frame and the settings show. */
import { api, dataOf, type Schemas } from './api.ts'
import { newResource, type Resource } from './resource.ts'

/** The profile of the account. A page that changes it reads it again. */
export const ownProfile: Resource<Schemas['Profile']> = newResource(() =>
  dataOf(api.GET('/api/v1/profile')),
)
