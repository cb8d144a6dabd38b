/** The texts of `../tags.ts` and `../presets.ts`. */
import type { Texts } from './text.ts'

export const tagTexts: Texts<'tags' | 'presets'> = {
  tags: {
    list: {
      summary: 'List tags',
      description: 'Lists tags, each with the number of connections that have it.',
      tool: {
        title: 'List tags',
        description:
          'Lists your labels for connections, each with the number of connections that have it. Only you see them. To see which connections, read tag_ids in connections_list. For groups of the organisation, use org_groups_list.',
      },
    },
    create: {
      summary: 'Create a tag',
      description: 'Only you see your tags. A second tag with the same name is refused.',
      tool: {
        title: 'Create a tag',
        description:
          'Create a label for connections. Its name must differ from your other tags. Put it on a connection with tags_assign.',
        // Not `again`: a name that already exists is rejected.
        traits: [],
      },
    },
    update: {
      summary: 'Rename a tag or change its colour',
      description:
        'The change shows on every connection that has the tag. Fields that are left out do not change.',
      tool: {
        title: 'Rename a tag or change its colour',
        description:
          'Change the name or colour of a tag. Fields left out do not change. Connections that have the tag keep it.',
        traits: [],
      },
    },
    delete: {
      summary: 'Delete a tag; the connections stay',
      description:
        'The tag is removed from every connection and every preset; nothing else changes.',
      tool: {
        title: 'Delete a tag',
        description:
          'Delete a tag and remove it from all connections and presets, which stay. Cannot be undone. To remove it from only one connection, use tags_unassign.',
        traits: ['takes'],
      },
    },
    assign: {
      summary: 'Assign a tag to a connection',
      description: 'Only you see the tag. Assigning it again changes nothing.',
      tool: {
        title: 'Put a tag on a connection',
        description:
          'Put one of your tags (id) on one of your connections (cid). Only you see it. Undo with tags_unassign.',
        traits: [],
      },
    },
    unassign: {
      summary: 'Remove a tag from a connection',
      description: 'The tag itself is not deleted, and stays on other connections.',
      tool: {
        title: 'Take a tag off a connection',
        description:
          'Remove one tag (id) from one connection (cid); neither is deleted. Undo with tags_assign. To remove a tag from all connections, use tags_delete.',
        traits: ['takes'],
      },
    },
  },
  presets: {
    list: {
      summary: 'List presets',
      description: 'The default preset has `is_default: true`.',
      tool: {
        title: 'List presets',
        description:
          'Lists presets: settings for new connections (tags, favourite, message and lifetime of invitations). is_default marks the preset that is used by default.',
      },
    },
    create: {
      summary: 'Create a preset for connections',
      description:
        'A preset has no effect until a connection is created with it: by its id or, if it is the default, by naming no preset.',
      tool: {
        title: 'Create a preset',
        description:
          'Store settings for new connections; pass its id to connections_create as preset_id. To make it the default, use presets_set_default. Existing connections do not change.',
        traits: ['again'],
      },
    },
    update: {
      summary: 'Change a preset; existing connections do not change',
      description:
        'Connections that were made with the preset keep their settings, but their next invitations use the changed preset. Fields that are left out do not change.',
      tool: {
        title: 'Change a preset',
        description:
          'Change the settings of a preset. Fields left out do not change. Connections made with it stay as they are, but their next invitations use the changed preset.',
        traits: [],
      },
    },
    delete: {
      summary: 'Delete a preset; connections made with it stay as they are',
      description: 'If it was the default preset, there is no default preset afterwards.',
      tool: {
        title: 'Delete a preset',
        description:
          'Delete a preset; connections made with it stay as they are. Cannot be undone. To keep the preset but no longer use it by default, use presets_clear_default.',
        traits: ['takes'],
      },
    },
    setDefault: {
      summary: 'Make a preset the default',
      description:
        'New connections that name no preset use this preset. It replaces the previous default preset.',
      tool: {
        title: 'Make a preset the default',
        description:
          'Use this preset by default for new connections. It replaces the previous default. Undo with presets_clear_default.',
        traits: [],
      },
    },
    clearDefault: {
      summary: 'Clear the default preset',
      description: 'New connections that name no preset are created without a preset.',
      tool: {
        title: 'Have no default preset',
        description:
          'Create new connections without a preset by default. Has no parameters, and deletes no preset. Undo with presets_set_default.',
        traits: ['takes'],
      },
    },
  },
}
