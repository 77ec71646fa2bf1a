/** The script of the site's pages. */
import { render } from "./index";
import { Lesson } from "./lesson/lesson";
import { play } from "./player";

play(render, (place) => new Lesson(place));
